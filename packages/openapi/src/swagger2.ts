/**
 * Converts operations of Swagger 2.0 to OpenAPI 3. Schemas stay in place, so that references remain
 * valid.
 */
import type { JsonValue } from './document.ts';
import type { References } from './references.ts';

/** Members of a parameter that belong in its schema. */
const schemaMembers = [
  ...['type', 'format', 'items', 'default', 'enum', 'pattern', 'multipleOf', 'uniqueItems'],
  ...['maximum', 'exclusiveMaximum', 'minimum', 'exclusiveMinimum'],
  ...['maxLength', 'minLength', 'maxItems', 'minItems', 'title', 'x-nullable'],
];

/**
 * Base URLs of the API.
 *
 * @param base URL of the document, which supplies the default scheme
 */
export function serversOfSwagger2(document: JsonValue, base: URL | undefined): JsonValue[] {
  const { host, basePath = '', schemes } = document;
  if (typeof host !== 'string' || host === '') return [{ url: String(basePath) || '/' }];
  const fallback = base?.protocol === 'https:' ? 'https' : 'http';
  const all = Array.isArray(schemes) && schemes.length > 0 ? schemes : [fallback];
  return all.map((scheme) => ({ url: `${String(scheme)}://${host}${String(basePath)}` }));
}

/** Converts an operation together with the parameters of its path. */
export function fromSwagger2(given: JsonValue, shared: JsonValue, refs: References): JsonValue {
  const { document } = refs;
  const parameters = mergedParameters(shared['parameters'], given['parameters'], refs);
  const consumes = typesIn(given['consumes'], document['consumes']);
  const produces = typesIn(given['produces'], document['produces']);
  const bodies = parameters.filter((each) => each['in'] === 'body');
  const fields = parameters.filter((each) => each['in'] === 'formData');
  if (bodies.length + (fields.length > 0 ? 1 : 0) > 1) throw new Error('more than one body');
  const [body] = bodies;
  const requestBody = body ? bodyOf(body, consumes) : formOf(fields, consumes);
  const responses = Object.entries((given['responses'] ?? {}) as JsonValue).map(
    ([status, each]) => [status, responseOf(refs.resolve(each), produces, refs)] as const,
  );
  return {
    ...given,
    parameters: parameters
      .filter((each) => each['in'] !== 'body' && each['in'] !== 'formData')
      .map(parameterOf),
    ...(requestBody ? { requestBody } : {}),
    responses: Object.fromEntries(responses),
  };
}

/** Merges parameters; an operation's own parameter replaces that of its path. */
function mergedParameters(shared: unknown, own: unknown, refs: References): readonly JsonValue[] {
  const read = (given: unknown) =>
    (Array.isArray(given) ? given : []).map((each) => refs.resolve(each));
  const key = ({ in: place, name }: JsonValue) => `${String(place)} ${String(name)}`;
  const all = read(own);
  const keys = new Set(all.map(key));
  return [...read(shared).filter((each) => !keys.has(key(each))), ...all];
}

function typesIn(...given: readonly unknown[]): readonly string[] {
  const found = given.find((types) => Array.isArray(types) && types.length > 0) as unknown[];
  return (found ?? ['application/json']).map(String);
}

function bodyOf({ schema, description, required }: JsonValue, consumes: readonly string[]) {
  const content = Object.fromEntries(consumes.map((type) => [type, { schema }]));
  return { description, required, content };
}

function formOf(fields: readonly JsonValue[], consumes: readonly string[]): JsonValue | undefined {
  if (fields.length === 0) return undefined;
  const hasFile = fields.some(({ type }) => type === 'file');
  const isForm = (type: string) =>
    type.startsWith('multipart/') || (type.startsWith('application/x-www-form') && !hasFile);
  const types = consumes.filter(isForm);
  const fallback = hasFile ? 'multipart/form-data' : 'application/x-www-form-urlencoded';
  const properties = fields.map((each) => [String(each['name']), schemaOf(each)] as const);
  const lists = fields.filter(({ type }) => type === 'array');
  const encoding = lists.map((each) => [String(each['name']), styleOf(each, 'form')] as const);
  const required = fields.filter((each) => each['required'] === true).map(({ name }) => name);
  const media = {
    schema: {
      type: 'object',
      properties: Object.fromEntries(properties),
      ...(required.length > 0 ? { required } : {}),
    },
    encoding: Object.fromEntries(encoding),
  };
  return {
    required: required.length > 0,
    content: Object.fromEntries(
      (types.length > 0 ? types : [fallback]).map((type) => [type, media]),
    ),
  };
}

function parameterOf(given: JsonValue): JsonValue {
  const { name, in: place, required, description } = given;
  const isQuery = place === 'query';
  return {
    ...{ name, in: place, required, description, schema: schemaOf(given, false) },
    ...(given['type'] === 'array' ? styleOf(given, isQuery ? 'form' : 'simple') : {}),
  };
}

function schemaOf(given: JsonValue, isDescribed = true): JsonValue {
  const members = [...schemaMembers, ...(isDescribed ? ['description'] : [])];
  return Object.fromEntries(
    members.flatMap((member) => (given[member] === undefined ? [] : [[member, given[member]]])),
  );
}

/** Converts `collectionFormat` to a style. */
function styleOf({ collectionFormat = 'csv' }: JsonValue, plain: 'form' | 'simple'): JsonValue {
  const styles: { readonly [format: string]: string } = {
    ssv: 'spaceDelimited',
    pipes: 'pipeDelimited',
    tsv: 'tabDelimited',
  };
  const format = String(collectionFormat);
  return { style: styles[format] ?? plain, explode: format === 'multi' && plain === 'form' };
}

function responseOf(
  { schema, description }: JsonValue,
  produces: readonly string[],
  refs: References,
): JsonValue {
  if (schema === undefined) return { description };
  const isFile = refs.resolve(schema)['type'] === 'file';
  const types = isFile ? ['application/octet-stream'] : produces;
  return { description, content: Object.fromEntries(types.map((type) => [type, { schema }])) };
}
