import { groupBy } from '../values/group-by.ts';

/**
 * Returns a JSON schema that these values match, and no wider than a client can use: words are listed, because programs
 * compare them; sentences are not, because people read them.
 */
export function schemaOf(values: readonly unknown[]): object {
  const schemas = [...groupBy(values, typeOf)].map(([type, alike]) => {
    if (type === 'array') return { type, items: schemaOf(alike.flat()) };
    if (type === 'object') return schemaOfObjects(alike as readonly object[]);
    const isSentence = alike.some((value) => typeof value === 'string' && /\s/.test(value));
    return isSentence ? { type } : { type, enum: [...new Set(alike)] };
  });
  return schemas.length > 1 ? { anyOf: schemas } : { ...schemas[0] };
}

const typeOf = (value: unknown): string => (Array.isArray(value) ? 'array' : value === null ? 'null' : typeof value);

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
