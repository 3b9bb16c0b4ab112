/** The request of a call: parameters as OpenAPI writes them, and bodies. Nothing leaves for another server. */
import { ToolError } from 'mcp-actors';
import type { JsonValue } from './document.ts';
import type { DocumentedBody, DocumentedOperation, Parameter } from './operations.ts';
import type { Argument } from './schemas.ts';

/** What a request may send. */
type RequestBody = string | FormData | Uint8Array<ArrayBuffer>;

/** A request that may be sent. */
export interface BuiltRequest {
  readonly url: URL;
  readonly headers: Headers;
  readonly body: RequestBody | undefined;
}

/**
 * Makes the request of a call.
 *
 * @param server where the API is: nothing outside of it can be reached
 * @throws {ToolError} an argument cannot be written, or would lead elsewhere
 */
export function buildRequest(
  { path, body }: DocumentedOperation,
  server: URL,
  given: readonly Argument[],
  args: JsonValue,
): BuiltRequest {
  const headers = new Headers({ accept: 'application/json, */*;q=0.5' });
  const query: string[] = [];
  const cookies: string[] = [];
  let target = path;
  let sent: RequestBody | undefined;
  for (const { name, to } of given) {
    const value = args[name];
    if (value === undefined) continue;
    if (to === 'body') sent = body && writtenBody(body, value, headers);
    else if (to.in === 'path') target = target.replaceAll(`{${to.name}}`, inPath(to, value));
    else if (to.in === 'query') query.push(...inQuery(to, value));
    else if (to.in === 'cookie') cookies.push(...inQuery(to, value));
    else headers.set(to.name, inHeader(to, value));
  }
  if (cookies.length > 0) headers.set('cookie', cookies.join('; '));
  const base = server.href.replace(/\/$/, '');
  const url = new URL(`${base}${target}${query.length > 0 ? `?${query.join('&')}` : ''}`);
  const folder = server.pathname.replace(/\/$/, '');
  if (url.origin !== server.origin || !url.pathname.startsWith(`${folder}/`)) {
    throw new ToolError(
      `The arguments would lead to ${url.origin}${url.pathname}, outside of the API`,
    );
  }
  return { url, headers, body: sent };
}

function inPath(parameter: Parameter, value: unknown): string {
  const { name, style, isExploded } = parameter;
  const [prefix, between] =
    style === 'label' ? ['.', '.'] : style === 'matrix' ? [';', ';'] : ['', ','];
  const key = style === 'matrix' ? `${escaped(name)}=` : '';
  const written = (() => {
    if (Array.isArray(value)) {
      const items = value.map((each) => escaped(textOf(each)));
      if (style === 'matrix' && isExploded) return items.map((each) => key + each).join(';');
      return key + items.join(isExploded ? between : ',');
    }
    if (!isObject(value)) return key + escaped(textOf(value));
    const pairs = pairsOf(value).map(([one, each]) => [escaped(one), escaped(each)]);
    if (isExploded) return pairs.map((pair) => pair.join('=')).join(between);
    return key + pairs.flat().join(',');
  })();
  const segment = prefix + written;
  // A URL takes these for the folder itself, and the one above it, however they are written.
  if (segment === '' || /^\.{1,2}$/.test(segment)) {
    throw new ToolError(
      `The argument "${name}" is a part of the path, and may not be "${segment}"`,
    );
  }
  return segment;
}

function inQuery(parameter: Parameter, value: unknown): readonly string[] {
  const { name, style, isExploded, allowsReserved, isJson } = parameter;
  const key = escaped(name);
  const write = (text: string) =>
    allowsReserved ? encodeURI(text).replaceAll(/[#&+]/g, escaped) : escaped(text);
  if (isJson) return [`${key}=${escaped(JSON.stringify(value))}`];
  if (Array.isArray(value)) {
    const items = value.map((each) => write(textOf(each)));
    if (isExploded) return items.map((each) => `${key}=${each}`);
    const between = style === 'spaceDelimited' ? '%20' : style === 'pipeDelimited' ? '%7C' : ',';
    return [`${key}=${items.join(between)}`];
  }
  if (!isObject(value)) return [`${key}=${write(textOf(value))}`];
  if (style === 'deepObject') return deep(key, value, write);
  const pairs = pairsOf(value).map(([one, each]) => [escaped(one), write(each)]);
  if (isExploded) return pairs.map((pair) => pair.join('='));
  return [`${key}=${pairs.flat().join(',')}`];
}

/** `filter[status][name]=x`, as many APIs read it. */
function deep(key: string, value: unknown, write: (text: string) => string): string[] {
  if (Array.isArray(value)) return value.flatMap((each) => deep(`${key}[]`, each, write));
  if (!isObject(value)) return [`${key}=${write(textOf(value))}`];
  return Object.entries(value).flatMap(([name, each]) =>
    deep(`${key}[${escaped(name)}]`, each, write),
  );
}

function inHeader({ name, isExploded, isJson }: Parameter, value: unknown): string {
  const text = isJson
    ? JSON.stringify(value)
    : Array.isArray(value)
      ? value.map(textOf).join(',')
      : isObject(value)
        ? pairsOf(value)
            .map((pair) => pair.join(isExploded ? '=' : ','))
            .join(',')
        : textOf(value);
  if (/^[\t\x20-\x7e\x80-\xff]*$/.test(text)) return text;
  throw new ToolError(
    `The argument "${name}" is a header, and may have no line feeds and no characters beyond Latin-1`,
  );
}

function writtenBody(
  { mediaType, encoding }: DocumentedBody,
  value: unknown,
  headers: Headers,
): RequestBody {
  if (/^multipart\/form-data/i.test(mediaType)) return form(value, encoding);
  headers.set('content-type', mediaType.includes('*') ? 'application/octet-stream' : mediaType);
  if (/[/+]json\b/i.test(mediaType)) return JSON.stringify(value);
  if (/^application\/x-www-form-urlencoded/i.test(mediaType)) {
    const write = (text: string) => escaped(text);
    return Object.entries(isObject(value) ? value : {})
      .flatMap(([name, each]) => field(name, each, encoding[name], write))
      .join('&');
  }
  if (isObject(value) && typeof value['base64'] === 'string') return bytesOf(value);
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function field(
  name: string,
  value: unknown,
  encoding: JsonValue | undefined,
  write: (text: string) => string,
): readonly string[] {
  // Stripe and others read objects so, and say it.
  if (encoding?.['style'] === 'deepObject') return deep(escaped(name), value, write);
  if (Array.isArray(value)) return value.map((each) => `${escaped(name)}=${write(textOf(each))}`);
  return [`${escaped(name)}=${write(isObject(value) ? JSON.stringify(value) : textOf(value))}`];
}

function form(value: unknown, encoding: DocumentedBody['encoding']): FormData {
  const data = new FormData();
  for (const [name, given] of Object.entries(isObject(value) ? value : {})) {
    for (const each of Array.isArray(given) ? given : [given]) {
      const type = encoding[name]?.['contentType'];
      if (isObject(each) && typeof each['base64'] === 'string') {
        const { mimeType = type ?? 'application/octet-stream', filename = name } = each;
        data.append(name, new Blob([bytesOf(each)], { type: String(mimeType) }), String(filename));
      } else if (isObject(each)) {
        data.append(name, new Blob([JSON.stringify(each)], { type: 'application/json' }));
      } else data.append(name, textOf(each));
    }
  }
  return data;
}

function bytesOf({ base64 }: JsonValue): Uint8Array<ArrayBuffer> {
  const text = String(base64);
  if (!/^[A-Za-z0-9+/\s]*={0,2}\s*$/.test(text)) throw new ToolError('A file is no base64');
  return new Uint8Array(Buffer.from(text, 'base64'));
}

function pairsOf(value: JsonValue): [string, string][] {
  return Object.entries(value).map(([name, each]) => [name, textOf(each)]);
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function isObject(value: unknown): value is JsonValue {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** They have no form in UTF-8. */
const loneSurrogates = /[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/g;

/** Everything but letters, digits and `-_.~`. */
function escaped(text: string): string {
  return encodeURIComponent(text.replaceAll(loneSurrogates, '\uFFFD')).replaceAll(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
