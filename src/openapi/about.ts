import type { CheckedOptions, Guard } from 'protected-api';
import packageJson from '../../package.json' with { type: 'json' };

/** What the document and its page describe. */
export interface DescribedApi {
  readonly guard: Guard;
  /** The options that a guard does not publish. */
  readonly options: Pick<
    CheckedOptions,
    'audience' | 'dpop' | 'dpopNonceSecret' | 'publicUrl' | 'scopePrefix' | 'scopeRequestPrefix'
  >;
}

/** Returns the first public URL, which the document, its page and the metadata show. */
export const publicUrlOf = ({ publicUrl }: Pick<CheckedOptions, 'publicUrl'>) => [publicUrl ?? []].flat()[0];

/** The part of an operation that the document and its page use. */
export interface Operation {
  readonly summary?: string;
  readonly description?: string;
  readonly security?: readonly Readonly<Record<string, readonly string[]>>[];
  readonly parameters?: readonly { readonly name: string; readonly in: string; readonly required: boolean }[];
  readonly requestBody?: object;
  readonly responses?: Readonly<Record<string, ResponseObject>>;
}

/** Returns the scopes of the first alternative of an operation: those that its challenge names. */
export function requiredScopes({ security = [] }: Pick<Operation, 'security'>): readonly string[] {
  return security.flatMap(({ bearer, dpop = bearer }) => (dpop ? [dpop] : []))[0] ?? [];
}

/** A response, or a reference to a shared one. */
export interface ResponseObject {
  readonly $ref?: string;
  readonly description?: string;
  readonly headers?: Readonly<Record<string, Pick<MediaType, 'examples'> & { readonly description: string }>>;
  readonly content?: Readonly<Record<string, MediaType | undefined>>;
}

export interface MediaType {
  readonly schema?: { readonly title?: string; readonly examples?: readonly unknown[]; readonly $ref?: string };
  readonly examples?: Readonly<Record<string, { readonly value: unknown }>>;
}

export const { version, license } = packageJson;

/** The name of the API on its pages, in its document and in the banner. */
export const name = 'Protected API';
export const summary = 'A sample API with one public endpoint and two that require an OAuth 2.0 access token.';

/** Path of the page that documents the API. */
export const pagePath = '/openapi';
/** Path of the OpenAPI document. */
export const documentPath = `${pagePath}/json`;
