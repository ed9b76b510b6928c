import { describe, expect, test } from 'bun:test';
import SwaggerParser from '@apidevtools/swagger-parser';
import SwaggerParser10 from '@apidevtools/swagger-parser-10';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import { documents } from './documents.ts';

/** The tools that take seconds are tried at night. */
const copyOf = (document: object) => structuredClone(document) as never;

for (const [name, document] of Object.entries(documents))
  describe(`the document of ${name}`, () => {
    test('has no problem for Redocly', async () => {
      const config = await createConfig({ extends: ['recommended'] });
      const problems = await lintFromString({ source: JSON.stringify(document), config });
      // Examples have no license and no summary, and no response of 4xx where no token is needed.
      const isOpen = ({ ruleId }: { readonly ruleId: string }) =>
        !/^(info-license|operation-summary|operation-4xx-response)/.test(ruleId);
      expect(problems.filter(isOpen).map(({ ruleId, message }) => `${ruleId}: ${message}`)).toEqual([]);
    });

    test('is valid for swagger-parser 10 and 12', async () => {
      expect(await SwaggerParser10.validate(copyOf(document))).toBeObject();
      expect(await SwaggerParser.validate(copyOf(document))).toBeObject();
    });
  });
