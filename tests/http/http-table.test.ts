import { executableForm } from '../support/forms.ts';
import { inProcessForm } from '../support/in-process.ts';
import { isNight } from '../support/node-versions.ts';
import { describeHttpTable } from './table/http-table.ts';
import { oneOfEach } from './table/probed.ts';

describeHttpTable(inProcessForm);
// What the compiler could change is seen in one row of each topic.
describeHttpTable(executableForm, isNight ? undefined : oneOfEach);
