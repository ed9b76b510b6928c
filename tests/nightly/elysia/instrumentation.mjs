import { opentelemetry } from '@elysiajs/opentelemetry';
import { InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';

/** The module that the documentation of Elysia imports first, or preloads. */
export const exporter = new InMemorySpanExporter();
export const instrumentation = opentelemetry({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
