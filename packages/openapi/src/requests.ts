/**
 * Builds requests: parameters and bodies in OpenAPI's serialization, confined to the API's server.
 */
import { ToolError } from 'mcp-actors';
import { exactNumbers, jsonText } from 'mcp-actors/internal';
import { parseTemplate } from 'url-template';
import type { JsonValue } from './document.ts';
import { isJsonType, isXmlType, wellFormed } from './media.ts';
import { writeForm } from './multipart.ts';
import type { FormPart } from './multipart.ts';
import type { DocumentedBody, DocumentedOperation, Parameter } from './operations.ts';
import type { References } from './references.ts';
import type { Argument } from './schemas.ts';
import { writeXml } from './xml.ts';

/** A request ready to be sent. */
export interface BuiltRequest {
  readonly url: URL;
  readonly headers: Headers;
  readonly body: string | Uint8Array<ArrayBuffer> | undefined;
}

/** Serialization of a value in a query, path, cookie or form field. */
type Serialization = Pick<Parameter, 'name' | 'style' | 'isExploded' | 'allowsReserved'>;

/**
 * Builds the request of a call.
 *
 * @param server base URL of the API, which the request cannot leave
 * @throws {ToolError} if an argument cannot be serialized, or would change the target
 */
export function buildRequest(
  { path, body }: DocumentedOperation,
  server: URL,
  given: readonly Argument[],
  args: JsonValue,
  refs: References,
): BuiltRequest {
  const headers = new Headers({ accept: 'application/json, */*;q=0.5' });
  // Some documents distinguish operations on one path by a query or fragment in the template.
  const [template = '', ...fixed] = path.replace(/#.*$/s, '').split('?');
  const query: string[] = [server.search.slice(1), ...fixed].filter((part) => part !== '');
  const cookies: string[] = [];
  let target = template;
  let sent: BuiltRequest['body'];
  const exact = exactNumbers(args) as JsonValue;
  for (const { name, target: to } of given) {
    const plain = exact[name];
    if (plain === undefined) continue;
    const mediaType = to === 'body' ? body?.mediaType : to.mediaType;
    const isJson = mediaType !== undefined && isJsonType(mediaType);
    const isOmitted = plain === null && to !== 'body';
    // Numbers that would lose precision are strings by now, but must not be quoted in JSON.
    const json = () =>
      typeof args[name] === 'number' && typeof plain === 'string' ? plain : jsonText(plain);
    const value = isJson && !isOmitted ? json() : plain;
    if (to === 'body') {
      const isText = typeof args[name] === 'string';
      sent = body && writeBody(body, { value, isText }, headers, refs);
    } else if (to.in === 'path') {
      const segment = inPath(to, value);
      target = target.replaceAll(`{${to.name}}`, () => segment);
    } else if (to.in === 'query') query.push(...pairsOf(to, value));
    else if (to.in === 'cookie') cookies.push(...pairsOf(to, value));
    else if (value !== null) headers.set(to.name, inHeader(to, value));
  }
  if (cookies.length > 0) headers.set('cookie', cookies.join('; '));
  const folder = server.pathname.replace(/\/$/, '');
  const search = query.length > 0 ? `?${query.join('&')}` : '';
  const url = new URL(`${server.origin}${folder}${target}${search}`);
  if (!isWithin(url, server)) {
    throw new ToolError(
      `Arguments must stay within the API, got a request to ${url.origin}${url.pathname}`,
    );
  }
  return { url, headers, body: sent };
}

/** True for a URL at or below the API's base URL. */
export function isWithin(url: URL, server: URL): boolean {
  const folder = server.pathname.replace(/\/$/, '');
  // Include encoded forms, because servers may decode the path after this check.
  const climbs = /(^|\/|%2f|%5c)(\.|%2e){2}(\/|%2f|%5c|$)/i.test(url.pathname);
  return (
    url.origin === server.origin &&
    (url.pathname === folder || url.pathname.startsWith(`${folder}/`)) &&
    !climbs
  );
}

/** Expands one variable of a URI template as defined by RFC 6570, which OpenAPI follows. */
function expand(template: string, value: unknown): string {
  return parseTemplate(template).expand({ v: toTemplateValue(value) as never });
}

function inPath(parameter: Parameter, value: unknown): string {
  const { name, style, isExploded, mediaType } = parameter;
  const delimiter = delimiters[style];
  const segment = (() => {
    if (mediaType !== undefined) return encode(plainText(value));
    if (delimiter && Array.isArray(value)) return joinEncoded(value, encode(delimiter));
    if (style === 'label') return expand(isExploded ? '{.v*}' : '{.v}', value);
    if (style === 'matrix') {
      return pairsOf({ ...parameter, style: 'form' }, value)
        .map((pair) => `;${pair.replace(/=$/, '')}`)
        .join('');
    }
    return expand(isExploded ? '{v*}' : '{v}', value);
  })();
  // URLs resolve these segments to the folder itself or its parent, even when percent-encoded.
  if (segment === '' || /^\.{1,2}$/.test(segment)) {
    throw new ToolError(
      `Argument "${name}" must be a non-empty path segment other than . and .., got "${segment}"`,
    );
  }
  return segment;
}

/** Delimiters of styles beyond RFC 6570. `tabDelimited` stands for `tsv` of Swagger 2.0. */
const delimiters: { readonly [style: string]: string } = {
  spaceDelimited: ' ',
  pipeDelimited: '|',
  tabDelimited: '\t',
};

/** Builds the `name=value` pairs of a query, a cookie or a form. */
function pairsOf(
  parameter: Serialization & { readonly mediaType?: string | undefined },
  value: unknown,
): readonly string[] {
  const { name, style, isExploded, allowsReserved, mediaType } = parameter;
  if (value === null) return [];
  const key = encode(name);
  if (mediaType !== undefined) return [`${key}=${encode(plainText(value))}`];
  const template = allowsReserved ? '{+v}' : '{v}';
  // Encode reserved characters that would end the value.
  const write = (each: unknown) =>
    expand(template, each).replaceAll(/[#&+]/g, (character) => encodeURIComponent(character));
  if (style === 'deepObject' && typeof value === 'object')
    return deepObjectPairs(key, value, write);
  const isList = Array.isArray(value);
  if (typeof value === 'object' && Object.keys(value).length === 0) return [];
  const delimiter = delimiters[style];
  if (isList && delimiter && !isExploded)
    return [`${key}=${joinEncoded(value, encode(delimiter))}`];
  if (isList && isExploded) return value.map((each) => `${key}=${write(plainText(each))}`);
  if (isObject(value) && isExploded) {
    return Object.entries(value)
      .filter(([, each]) => each !== null)
      .map(([member, each]) => `${encode(member)}=${write(plainText(each))}`);
  }
  return [`${key}=${write(value)}`];
}

/** Builds `filter[status][name]=x` pairs, the form many APIs expect. */
function deepObjectPairs(key: string, value: unknown, write: (value: unknown) => string): string[] {
  if (value === null) return [];
  if (Array.isArray(value))
    return value.flatMap((each) => deepObjectPairs(`${key}[]`, each, write));
  if (!isObject(value)) return [`${key}=${write(value)}`];
  return Object.entries(value).flatMap(([name, each]) =>
    deepObjectPairs(`${key}[${encode(name)}]`, each, write),
  );
}

function inHeader({ name, style, isExploded, mediaType }: Parameter, value: unknown): string {
  const text = (() => {
    if (mediaType !== undefined) return plainText(value);
    if (Array.isArray(value)) return value.map(plainText).join(delimiters[style] ?? ',');
    if (!isObject(value)) return plainText(value);
    return Object.entries(value)
      .map(([member, each]) => [member, plainText(each)].join(isExploded ? '=' : ','))
      .join(',');
  })();
  if (/^[\t\x20-\x7e\x80-\xff]*$/.test(text)) return text;
  throw new ToolError(
    `Argument "${name}" is sent as a header: it must be Latin-1 without line breaks`,
  );
}

/** Body argument of a call; `value` is JSON text if the body is sent as JSON. */
interface GivenBody {
  readonly value: unknown;
  /** True if the argument is a string. */
  readonly isText: boolean;
}

function writeBody(
  body: DocumentedBody,
  { value, isText }: GivenBody,
  headers: Headers,
  refs: References,
): BuiltRequest['body'] {
  const { mediaType, encoding, schema } = body;
  if (/^multipart\//i.test(mediaType)) {
    const members = Object.entries(isObject(value) ? value : {});
    const parts = members.flatMap(([name, each]) => partsOf(name, each, encoding[name]));
    const form = writeForm(parts, mediaType);
    headers.set('content-type', form.type);
    return form.body;
  }
  const type = mediaType.includes('*') ? 'application/octet-stream' : mediaType;
  headers.set('content-type', type);
  if (isJsonType(mediaType)) return value as string;
  if (/^application\/x-www-form-urlencoded/i.test(mediaType)) {
    return Object.entries(isObject(value) ? value : {})
      .flatMap(([name, each]) => fieldsOf(name, each, encoding[name]))
      .join('&');
  }
  if (isFile(value)) {
    if (mediaType.includes('*') && typeof value['mimeType'] === 'string') {
      const { mimeType } = value;
      if (!/^[\w!#$&^.+-]+\/[\w!#$&^.+-]+$/.test(mimeType)) {
        throw new ToolError('mimeType must be a media type such as "image/png"');
      }
      headers.set('content-type', mimeType);
    }
    return bytesOf(value);
  }
  if (isXmlType(mediaType) && !isText) return writeXml(value, schema, refs);
  return plainText(value);
}

/** Serialization that `encoding` gives a field; undefined if it sets none. */
function styleOf(name: string, encoding: JsonValue | undefined): Serialization | undefined {
  const { style, explode, allowReserved } = encoding ?? {};
  if (style === undefined && explode === undefined && allowReserved === undefined) return undefined;
  const written = typeof style === 'string' ? style : 'form';
  const isExploded = typeof explode === 'boolean' ? explode : written === 'form';
  return { name, style: written, isExploded, allowsReserved: allowReserved === true };
}

/** Builds the fields of `application/x-www-form-urlencoded`. */
function fieldsOf(name: string, value: unknown, encoding: JsonValue | undefined) {
  if (value === null) return [];
  const style = styleOf(name, encoding);
  if (style) return pairsOf(style, value);
  const values = Array.isArray(value) ? value : [value];
  return values.map((each) => `${encode(name)}=${encode(plainText(each))}`);
}

/** Builds the parts of `multipart/form-data`. Null values are omitted. */
function partsOf(name: string, value: unknown, encoding: JsonValue | undefined): FormPart[] {
  if (value === null) return [];
  const given = encoding?.['contentType'];
  const [type] = (typeof given === 'string' ? given : '')
    .split(',')
    .map((each) => each.trim())
    .filter((each) => each !== '' && !each.includes('*'));
  const style = styleOf(name, encoding);
  if (style && Array.isArray(value) && !style.isExploded) {
    const content = value.map(plainText).join(delimiters[style.style] ?? ',');
    return [{ name, content, type }];
  }
  if (Array.isArray(value) && !(type !== undefined && isJsonType(type))) {
    return value.flatMap((each) => partsOf(name, each, encoding));
  }
  if (isFile(value)) {
    const { mimeType = type ?? 'application/octet-stream', filename = name } = value;
    return [{ name, content: bytesOf(value), type: String(mimeType), filename: String(filename) }];
  }
  if (typeof value !== 'object') return [{ name, content: plainText(value), type }];
  return [{ name, content: jsonText(value), type: type ?? 'application/json' }];
}

/** True for the object in which tools accept files. */
function isFile(value: unknown): value is JsonValue {
  return (
    isObject(value) &&
    typeof value['base64'] === 'string' &&
    Object.keys(value).every((name) => ['base64', 'filename', 'mimeType'].includes(name))
  );
}

function bytesOf({ base64 }: JsonValue): Uint8Array<ArrayBuffer> {
  const text = String(base64);
  if (!/^[A-Za-z0-9+/\s]*={0,2}\s*$/.test(text)) {
    throw new ToolError(`base64 must be base64-encoded file content`);
  }
  return new Uint8Array(Buffer.from(text, 'base64'));
}

const joinEncoded = (values: readonly unknown[], delimiter: string): string =>
  values.map((each) => encode(plainText(each))).join(delimiter);

/** Returns strings unchanged and other values as JSON. */
function plainText(value: unknown): string {
  return typeof value === 'string' ? value : jsonText(value);
}

/**
 * Converts a value for RFC 6570, which supports strings, lists and maps. Deeper values become JSON,
 * and null is omitted.
 */
function toTemplateValue(value: unknown): unknown {
  const scalar = (each: unknown) => (each === null ? null : wellFormed(plainText(each)));
  if (Array.isArray(value)) return value.map(scalar);
  if (!isObject(value)) return scalar(value);
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [wellFormed(name), scalar(each)]),
  );
}

function isObject(value: unknown): value is JsonValue {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function encode(text: string): string {
  return expand('{v}', text);
}
