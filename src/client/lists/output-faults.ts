/**
 * Whether what a tool has answered is what its server says that it answers. The schema is the
 * server's: of all that it may say only that is looked at which costs no more than reading the value
 * once. Patterns, references and combinations of schemas are passed over.
 *
 * @see MCP 2025-11-25, server/tools, "Output Schema"
 */
import { describe, isJsonObject } from '../../protocol/classify.ts';
import type { JsonObject } from '../../protocol/frames.ts';

/** So many values are looked at: the rest of a longer result is taken for right. */
const maxValues = 100_000;

/** The bounds of a value's size, and what they are about. */
const sizes: readonly (readonly [
  keyword: string,
  of: (value: unknown) => number | undefined,
  isRight: (size: number, bound: number) => boolean,
])[] = [
  ['minimum', numberIn, (size, bound) => size >= bound],
  ['maximum', numberIn, (size, bound) => size <= bound],
  ['minLength', lengthOf, (size, bound) => size >= bound],
  ['maxLength', lengthOf, (size, bound) => size <= bound],
  ['minItems', itemsIn, (size, bound) => size >= bound],
  ['maxItems', itemsIn, (size, bound) => size <= bound],
];

function numberIn(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined;
}

/** In characters, as JSON Schema counts them. */
function lengthOf(value: unknown): number | undefined {
  return typeof value === 'string' ? [...value].length : undefined;
}

function itemsIn(value: unknown): number | undefined {
  return Array.isArray(value) ? value.length : undefined;
}

/**
 * What is wrong with the `structuredContent` of a result, in words; undefined if nothing is.
 *
 * @param schema the `outputSchema` of the tool
 */
export function outputFault(schema: JsonObject, value: unknown): string | undefined {
  if (value === undefined) return 'is missing';
  let looked = 0;
  const faultOf = (wanted: unknown, found: unknown, path: string): string | undefined => {
    if (!isJsonObject(wanted) || ++looked > maxValues) return undefined;
    return ownFault(wanted, found, path) ?? innerFault(wanted, found, path);
  };
  const innerFault = (wanted: JsonObject, found: unknown, path: string): string | undefined => {
    const { properties, items, prefixItems } = wanted;
    if (Array.isArray(found) && prefixItems === undefined && isJsonObject(items)) {
      for (const [at, item] of found.entries()) {
        const fault = faultOf(items, item, `${path}[${at}]`);
        if (fault !== undefined) return fault;
      }
    }
    if (!isJsonObject(found) || !isJsonObject(properties)) return undefined;
    for (const [name, member] of Object.entries(found)) {
      if (!Object.hasOwn(properties, name)) continue;
      const fault = faultOf(properties[name], member, `${path}.${name}`);
      if (fault !== undefined) return fault;
    }
    return undefined;
  };
  return faultOf(schema, value, '')?.trim();
}

/** What a value itself has that its schema does not allow. */
function ownFault(wanted: JsonObject, found: unknown, path: string): string | undefined {
  const { type, required, properties, additionalProperties, patternProperties } = wanted;
  const types = typeof type === 'string' ? [type] : Array.isArray(type) ? type : undefined;
  if (types && !types.some((each) => isOfType(found, each))) {
    return `${path} must be of type ${types.join(' or ')}, this is ${describe(found)}`;
  }
  const { enum: values } = wanted;
  const isListed = (each: unknown) => each === found || typeof each === 'object';
  if (Array.isArray(values) && !values.some(isListed)) {
    return `${path} must be one of ${describe(values)}, this is ${describe(found)}`;
  }
  for (const [keyword, sizeOf, isRight] of sizes) {
    const bound = wanted[keyword];
    const size = typeof bound === 'number' ? sizeOf(found) : undefined;
    if (size !== undefined && !isRight(size, bound as number)) {
      return `${path} breaks "${keyword}": ${describe(bound)}, this is ${describe(found)}`;
    }
  }
  if (!isJsonObject(found)) return undefined;
  const missing: unknown = Array.isArray(required)
    ? required.find((name) => typeof name === 'string' && !Object.hasOwn(found, name))
    : undefined;
  if (missing !== undefined) return `${path} must have the property ${describe(missing)}`;
  if (additionalProperties !== false || patternProperties !== undefined) return undefined;
  const known = isJsonObject(properties) ? properties : {};
  const unknown = Object.keys(found).find((name) => !Object.hasOwn(known, name));
  return unknown === undefined
    ? undefined
    : `${path} must not have the property ${describe(unknown)}`;
}

function isOfType(value: unknown, type: unknown): boolean {
  switch (type) {
    case 'null':
      return value === null;
    case 'array':
      return Array.isArray(value);
    case 'object':
      return isJsonObject(value);
    case 'integer':
      return Number.isInteger(value);
    case 'string':
    case 'number':
    case 'boolean':
      return typeof value === type;
    default:
      // A type that is none says nothing.
      return true;
  }
}
