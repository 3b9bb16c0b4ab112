/** Loads OpenAPI documents from a value, a file or a URL, in JSON or YAML, within size limits. */
import { readFile, realpath, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { $RefParser } from '@apidevtools/json-schema-ref-parser';
import { CORE_SCHEMA, Type, load } from 'js-yaml';
import { contains, timeoutSignal } from 'mcp-actors/internal';
import { readBounded } from './bounded.ts';

/** An object of the document. */
export type JsonValue = { readonly [member: string]: unknown };

/** A loaded document. */
export interface LoadedDocument {
  /** The document with external references bundled; internal references stay. */
  readonly document: JsonValue;
  /** Base URL of relative addresses; undefined for a document given as a value. */
  readonly base: URL | undefined;
}

/** Size limit of a document including its parts, bytes. */
const maxDocumentBytes = 64 * 1024 * 1024;

/** Limit on the number of files of a document. */
const maxParts = 1000;

/** Limit on the number of values in a document. A YAML alias counts as its full expansion. */
const maxValues = 4_000_000;

const maxDepth = 500;

/** Time limit of each request for a document, ms. */
const documentTimeoutMs = 30_000;

/**
 * Loads a document. Parts in other files are only read from the document's folder or origin.
 *
 * @param source a document, a file path or a URL
 * @throws {Error} if the document is unreadable or not OpenAPI
 */
export async function readDocument(source: string | URL | JsonValue): Promise<LoadedDocument> {
  const base = baseOf(source);
  const parser = new $RefParser();
  const reader = new PartReader(base);
  // The parser only reports which part failed, so the causes are collected here.
  const faults: unknown[] = [];
  const recording =
    <T, R>(run: (given: T) => R | Promise<R>) =>
    async (given: T): Promise<R> => {
      try {
        return await run(given);
      } catch (error) {
        faults.push(error);
        throw error;
      }
    };
  const any = { order: 1, allowEmpty: true };
  const resolver = {
    ...any,
    canRead: true,
    read: recording(({ url }: { readonly url: string }) => reader.read(url)),
  };
  const own = {
    ...any,
    canParse: true,
    parse: recording(({ data, url }: { readonly data: unknown; readonly url: string }) =>
      parseDocument(String(data), url),
    ),
  };
  const options = {
    resolve: { file: false, http: false, only: resolver },
    parse: { json: false, yaml: false, text: false, binary: false, own },
  } as const;
  try {
    if (!base) measure(source);
    // Copy the value, because bundling modifies it.
    const given = base ? base.href : (structuredClone(source) as object);
    const whole = (await parser.parse(given, options as never)) as unknown as JsonValue;
    checkVersion(whole);
    const document = hasExternalReference(whole)
      ? ((await parser.bundle(
          base?.href ?? 'memory:',
          whole,
          options as never,
        )) as unknown as JsonValue)
      : whole;
    return { document, base };
  } catch (error) {
    const [cause = error] = faults;
    const what = base?.protocol === 'file:' ? fileURLToPath(base) : (base?.href ?? 'the document');
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`${what} cannot be used as an OpenAPI document: ${why}`, { cause });
  }
}

function baseOf(source: string | URL | JsonValue): URL | undefined {
  if (source instanceof URL) return source;
  if (typeof source !== 'string') return undefined;
  return /^(https?|file):\/\//i.test(source) ? new URL(source) : pathToFileURL(resolve(source));
}

/** Reads the files of one document. */
class PartReader {
  readonly #base: URL | undefined;
  #parts = 0;
  #bytesLeft = maxDocumentBytes;

  constructor(base: URL | undefined) {
    this.#base = base;
  }

  /** @throws {Error} if the address is outside the document's files, or the limits are exceeded */
  async read(address: string): Promise<string> {
    const base = this.#base;
    if (!base)
      throw new Error(`a document given as a value cannot reference other files, got ${address}`);
    this.#parts++;
    if (this.#parts > maxParts) throw new Error(`more than ${maxParts} files`);
    const url = new URL(address, base);
    const bytes =
      base.protocol === 'file:'
        ? await this.#readFile(url, address, base)
        : await this.#fetch(url, address, base);
    this.#bytesLeft -= bytes.length;
    return new TextDecoder().decode(bytes);
  }

  async #readFile(url: URL, address: string, base: URL): Promise<Uint8Array> {
    if (url.protocol !== 'file:') throw new Error(`a file may not refer to ${address}`);
    const [path, folder] = await Promise.all([
      realpath(fileURLToPath(url)),
      realpath(dirname(fileURLToPath(base))),
    ]).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error;
      const what = url.href === base.href ? 'it' : address;
      throw new Error(`${what} does not exist`, { cause: error });
    });
    if (!contains(folder, path)) {
      throw new Error(`${address} is outside the document's folder`);
    }
    const stats = await stat(path);
    // Opening a FIFO would block until a writer appears.
    if (!stats.isFile()) throw new Error(`${address} must be a regular file`);
    if (stats.size > this.#bytesLeft) throw new Error(tooLarge);
    return await readFile(path);
  }

  async #fetch(url: URL, address: string, base: URL): Promise<Uint8Array> {
    if (url.origin !== base.origin)
      throw new Error(`${address} must be at ${base.origin}, like the document`);
    const signal = timeoutSignal(documentTimeoutMs);
    const response = await fetch(url, { redirect: 'error', signal });
    if (!response.ok) throw new Error(`${address} was answered with ${response.status}`);
    const read = await readBounded(response, this.#bytesLeft, signal);
    if (!read.isWhole) throw new Error(tooLarge);
    return read.bytes;
  }
}

const tooLarge = `more than ${maxDocumentBytes} bytes`;

/** YAML 1.2 plus the merge keys (`<<`) of YAML 1.1, which documents use. */
const yamlSchema = CORE_SCHEMA.extend({
  implicit: [
    new Type('tag:yaml.org,2002:merge', { kind: 'scalar', resolve: (key) => key === '<<' }),
  ],
});

/** @throws {Error} if the text is neither JSON nor YAML, or too large */
function parseDocument(text: string, filename: string): unknown {
  const value = parseText(text, filename);
  measure(value);
  return value;
}

function parseText(text: string, filename: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // YAML is a superset of JSON, so its error message covers both.
    return load(text, {
      filename,
      schema: yamlSchema,
      maxDepth,
      maxTotalMergeKeys: maxValues,
    } as never);
  }
}

/** @throws {Error} if there are too many values, or a value contains itself */
function measure(root: unknown): void {
  const sizes = new Map<object, number>();
  const sizeOf = (value: unknown, depth: number): number => {
    if (typeof value !== 'object' || value === null) return 1;
    const known = sizes.get(value);
    if (known === Infinity) throw new Error('a value contains itself');
    if (known !== undefined) return known;
    if (depth > maxDepth) throw new Error(`nesting exceeds ${maxDepth} levels`);
    sizes.set(value, Infinity);
    let size = 1;
    for (const each of Object.values(value)) size += sizeOf(each, depth + 1);
    if (size > maxValues) throw new Error(`more than ${maxValues} values`);
    sizes.set(value, size);
    return size;
  };
  sizeOf(root, 0);
}

/** The version may be a number, because YAML parses an unquoted `2.0` as one. */
function versionIn(document: unknown): string {
  const { openapi, swagger } = (document ?? {}) as JsonValue;
  const version = openapi ?? swagger;
  return typeof version === 'number' ? version.toFixed(1) : String(version);
}

function checkVersion(document: unknown): void {
  const { openapi } = (document ?? {}) as JsonValue;
  const version = versionIn(document);
  if (openapi === undefined ? version === '2.0' : /^3\.[012]\b/.test(version)) return;
  throw new Error('version must be "openapi": "3.0" or "3.1", or "swagger": "2.0"');
}

/** True if the document references another file. */
function hasExternalReference(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const { $ref } = value as JsonValue;
  if (typeof $ref === 'string' && !$ref.startsWith('#')) return true;
  return Object.values(value).some(hasExternalReference);
}
