import { groupBy } from '../values/group-by.ts';

/**
 * Returns a JSON schema that these values match, and no wider than a client can use: words are listed, because programs compare
 * them; sentences are not, because people read them.
 */
export function schemaOf(values: readonly unknown[]): object {
  const schemas = [...groupBy(values, typeOf)].map(([type, alike]) => schemaOfType(type, alike));
  return schemas.length > 1 ? { anyOf: schemas } : { ...schemas[0] };
}

function typeOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}

function schemaOfType(type: string, values: readonly unknown[]): object {
  if (type === 'array') return { type, items: schemaOf(values.flat()) };
  if (type === 'object') return schemaOfObjects(values as readonly object[]);
  const isSentence = values.some((value) => typeof value === 'string' && /\s/.test(value));
  return isSentence ? { type } : { type, enum: [...new Set(values)] };
}

function schemaOfObjects(values: readonly object[]): object {
  const names = [...new Set(values.flatMap(Object.keys))];
  const membersOf = (name: string) =>
    values.flatMap((value) => (Object.hasOwn(value, name) ? [Reflect.get(value, name)] : []));
  return {
    type: 'object',
    required: names.filter((name) => values.every((value) => Object.hasOwn(value, name))),
    properties: Object.fromEntries(names.map((name) => [name, schemaOf(membersOf(name))])),
  };
}
