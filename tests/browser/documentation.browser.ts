import { describeDocumentationPage } from '../support/documentation-page.ts';
import { executableForm, sourceForm } from '../support/forms.ts';

for (const form of [sourceForm, executableForm]) describeDocumentationPage(form);
