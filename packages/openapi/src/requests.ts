/** Requests of calls: parameters and bodies as OpenAPI writes them. None leaves the API's server. */
import { ToolError } from 'mcp-actors';
import { exactNumbers, jsonText } from 'mcp-actors/internal';
import { parseTemplate } from 'url-template';
import type { JsonValue } from './document.ts';
import { isJsonType, isXmlType, wellFormed } from './media.ts';
import { writeForm } from './multipart.ts';
import type { FormPart } from './multipart.ts';
import type { DocumentedBody, DocumentedOperation, Parameter } from './operations.ts';
import type { Pointers } from './pointers.ts';
import type { Argument } from './schemas.ts';
import { writeXml } from './xml.ts';

/** A request that may be sent. */
export interface BuiltRequest {
  readonly url: URL;
  readonly headers: Headers;
  readonly body: string | Uint8Array<ArrayBuffer> | undefined;
}

/** How a value is written in a query, a path, a cookie or a form field. */
type Serialization = Pick<Parameter, 'name' | 'style' | 'isExploded' | 'allowsReserved'>;

/**
 * Makes the request of a call.
 *
 * @param server base URL of the API: the request cannot leave it
 * @throws {ToolError} an argument cannot be written, or would lead elsewhere
 */
export function buildRequest(
  { path, body }: DocumentedOperation,
  server: URL,
  given: readonly Argument[],
  args: JsonValue,
  pointers: Pointers,
): BuiltRequest {
  const headers = new Headers({ accept: 'application/json, */*;q=0.5' });
  // Some documents tell operations of one path apart by a query or a fragment in its template.
  const [template = '', ...fixed] = path.replace(/#.*$/s, '').split('?');
  const query: string[] = [server.search.slice(1), ...fixed].filter((part) => part !== '');
  const cookies: string[] = [];
  let target = template;
  let sent: BuiltRequest['body'];
  const exact = exactNumbers(args) as JsonValue;
  for (const { name, to } of given) {
    const plain = exact[name];
    if (plain === undefined) continue;
    const mediaType = to === 'body' ? body?.mediaType : to.mediaType;
    const isJson = mediaType !== undefined && isJsonType(mediaType);
    const isOmitted = plain === null && to !== 'body';
    // A number that would be rounded is a string by now, and is no string in JSON.
    const json = () =>
      typeof args[name] === 'number' && typeof plain === 'string' ? plain : jsonText(plain);
    const value = isJson && !isOmitted ? json() : plain;
    if (to === 'body') {
      const isText = typeof args[name] === 'string';
      sent = body && writeBody(body, { value, isText }, headers, pointers);
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
      `The arguments would lead to ${url.origin}${url.pathname}, outside of the API`,
    );
  }
  return { url, headers, body: sent };
}

/** True for a URL at or below the API's base URL. */
export function isWithin(url: URL, server: URL): boolean {
  const folder = server.pathname.replace(/\/$/, '');
  // Servers may decode these after the check.
  const climbs = /(^|\/|%2f|%5c)(\.|%2e){2}(\/|%2f|%5c|$)/i.test(url.pathname);
  return (
    url.origin === server.origin &&
    (url.pathname === folder || url.pathname.startsWith(`${folder}/`)) &&
    !climbs
  );
}

/** Expands one variable of a URI template, as RFC 6570 and so OpenAPI define it. */
function expand(template: string, value: unknown): string {
  return parseTemplate(template).expand({ v: flat(value) as never });
}

function inPath(parameter: Parameter, value: unknown): string {
  const { name, style, isExploded, mediaType } = parameter;
  const delimiter = delimiters[style];
  const segment = (() => {
    if (mediaType !== undefined) return escaped(plainText(value));
    if (delimiter && Array.isArray(value)) return joined(value, escaped(delimiter));
    if (style === 'label') return expand(isExploded ? '{.v*}' : '{.v}', value);
    if (style === 'matrix') {
      return pairsOf({ ...parameter, style: 'form' }, value)
        .map((pair) => `;${pair.replace(/=$/, '')}`)
        .join('');
    }
    return expand(isExploded ? '{v*}' : '{v}', value);
  })();
  // A URL takes these for the folder itself and its parent, however they are written.
  if (segment === '' || /^\.{1,2}$/.test(segment)) {
    throw new ToolError(
      `The argument "${name}" is a part of the path, and may not be "${segment}"`,
    );
  }
  return segment;
}

/** Delimiters of styles beyond RFC 6570. The last one is the `tsv` of Swagger 2.0. */
const delimiters: { readonly [style: string]: string } = {
  spaceDelimited: ' ',
  pipeDelimited: '|',
  tabDelimited: '\t',
};

/** `name=value` pairs of a query, a cookie or a form. */
function pairsOf(
  parameter: Serialization & { readonly mediaType?: string | undefined },
  value: unknown,
): readonly string[] {
  const { name, style, isExploded, allowsReserved, mediaType } = parameter;
  if (value === null) return [];
  const key = escaped(name);
  if (mediaType !== undefined) return [`${key}=${escaped(plainText(value))}`];
  const template = allowsReserved ? '{+v}' : '{v}';
  // Reserved characters that would end the value.
  const write = (each: unknown) =>
    expand(template, each).replaceAll(/[#&+]/g, (character) => encodeURIComponent(character));
  if (style === 'deepObject' && typeof value === 'object') return deep(key, value, write);
  const isList = Array.isArray(value);
  if (typeof value === 'object' && Object.keys(value).length === 0) return [];
  const delimiter = delimiters[style];
  if (isList && delimiter && !isExploded) return [`${key}=${joined(value, escaped(delimiter))}`];
  if (isList && isExploded) return value.map((each) => `${key}=${write(plainText(each))}`);
  if (isObject(value) && isExploded) {
    return Object.entries(value)
      .filter(([, each]) => each !== null)
      .map(([member, each]) => `${escaped(member)}=${write(plainText(each))}`);
  }
  return [`${key}=${write(value)}`];
}

/** `filter[status][name]=x`, as many APIs read it. */
function deep(key: string, value: unknown, write: (value: unknown) => string): string[] {
  if (value === null) return [];
  if (Array.isArray(value)) return value.flatMap((each) => deep(`${key}[]`, each, write));
  if (!isObject(value)) return [`${key}=${write(value)}`];
  return Object.entries(value).flatMap(([name, each]) =>
    deep(`${key}[${escaped(name)}]`, each, write),
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
    `The argument "${name}" is a header, and may have no line feeds and no characters beyond Latin-1`,
  );
}

/** Body of a call; its `value` is the JSON text if it is sent as JSON. */
interface GivenBody {
  readonly value: unknown;
  /** True if the argument is a string. */
  readonly isText: boolean;
}

function writeBody(
  body: DocumentedBody,
  { value, isText }: GivenBody,
  headers: Headers,
  pointers: Pointers,
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
  if (isXmlType(mediaType) && !isText) return writeXml(value, schema, pointers);
  return plainText(value);
}

/** A style that `encoding` gives a field; undefined if it gives none. */
function styleOf(name: string, encoding: JsonValue | undefined): Serialization | undefined {
  const { style, explode, allowReserved } = encoding ?? {};
  if (style === undefined && explode === undefined && allowReserved === undefined) return undefined;
  const written = typeof style === 'string' ? style : 'form';
  const isExploded = typeof explode === 'boolean' ? explode : written === 'form';
  return { name, style: written, isExploded, allowsReserved: allowReserved === true };
}

/** Fields of `application/x-www-form-urlencoded`. */
function fieldsOf(name: string, value: unknown, encoding: JsonValue | undefined) {
  if (value === null) return [];
  const style = styleOf(name, encoding);
  if (style) return pairsOf(style, value);
  const values = Array.isArray(value) ? value : [value];
  return values.map((each) => `${escaped(name)}=${escaped(plainText(each))}`);
}

/** Parts of `multipart/form-data`. A value that is null has none. */
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

/** The form in which tools take files. */
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
    throw new ToolError(`base64 must be the content of a file in base64`);
  }
  return new Uint8Array(Buffer.from(text, 'base64'));
}

const joined = (values: readonly unknown[], delimiter: string): string =>
  values.map((each) => escaped(plainText(each))).join(delimiter);

/** A scalar as it is, anything else as JSON. */
function plainText(value: unknown): string {
  return typeof value === 'string' ? value : jsonText(value);
}

/** RFC 6570 knows texts, lists and maps of them. Anything deeper is JSON; null is left out. */
function flat(value: unknown): unknown {
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

function escaped(text: string): string {
  return expand('{v}', text);
}
