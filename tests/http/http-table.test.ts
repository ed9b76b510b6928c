import { executableForm } from '../support/forms.ts';
import { inProcessForm } from '../support/in-process.ts';
import { describeHttpTable } from './table/http-table.ts';

for (const form of [inProcessForm, executableForm]) describeHttpTable(form);
