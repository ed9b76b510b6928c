import { describeHttpTable } from '../http/table/http-table.ts';
import { containerForm } from '../support/container.ts';

describeHttpTable(containerForm);
