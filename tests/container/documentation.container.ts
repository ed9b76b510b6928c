import { containerForm } from '../support/container.ts';
import { describeDocumentationPage } from '../support/documentation-page.ts';

describeDocumentationPage(containerForm);
