/** Reads OpenAPI documents from a value, a file or a URL, in JSON or YAML, within bounds. */
import { readFile, realpath, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { $RefParser } from '@apidevtools/json-schema-ref-parser';
import { CORE_SCHEMA, Type, load } from 'js-yaml';
import { contains, timeoutSignal } from 'mcp-actors/internal';
import { readBounded } from './bounded.ts';

/** A value of a document. */
export type JsonValue = { readonly [member: string]: unknown };

/** A document that has been read. */
export interface ReadDocument {
  /** As written, with its parts in other files; references into itself stay. */
  readonly document: JsonValue;
  /** Base of the relative addresses in it; undefined for a value. */
  readonly base: URL | undefined;
}

/** Size limit of a document with all of its parts, bytes. */
const maxDocumentBytes = 64 * 1024 * 1024;

/** Limit of the files a document consists of. */
const maxParts = 1000;

/** Limit of the values in a document. An alias counts with all that it stands for. */
const maxValues = 4_000_000;

const maxDepth = 500;

/** Time limit of each request for a document, milliseconds. */
const documentTimeoutMs = 30_000;

/**
 * Reads a document. Its parts in other files are read from the document's folder or origin only.
 *
 * @param source a document, the path of a file, or a URL
 * @throws {Error} unreadable, or no OpenAPI document
 */
export async function readDocument(source: string | URL | JsonValue): Promise<ReadDocument> {
  const base = baseOf(source);
  const parser = new $RefParser();
  const reader = new PartReader(base);
  // The parser reports only the part that failed, without the reason.
  const faults: unknown[] = [];
  const noting =
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
    read: noting(({ url }: { readonly url: string }) => reader.read(url)),
  };
  const own = {
    ...any,
    canParse: true,
    parse: noting(({ data, url }: { readonly data: unknown; readonly url: string }) =>
      parsed(String(data), url),
    ),
  };
  const options = {
    resolve: { file: false, http: false, only: resolver },
    parse: { json: false, yaml: false, text: false, binary: false, own },
  } as const;
  try {
    if (!base) measure(source);
    // A given value is copied: bundling would change it.
    const given = base ? base.href : (structuredClone(source) as object);
    const whole = (await parser.parse(given, options as never)) as unknown as JsonValue;
    checkVersion(whole);
    const document = hasOutside(whole)
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

  /** @throws {Error} not one of the document's files, or too large */
  async read(address: string): Promise<string> {
    const base = this.#base;
    if (!base) throw new Error(`a document given as a value has no other files, got ${address}`);
    this.#parts++;
    if (this.#parts > maxParts) throw new Error(`it has more than ${maxParts} files`);
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
      throw new Error(`${address} lies outside of the document's folder`);
    }
    const stats = await stat(path);
    // Opening a FIFO waits for its writer.
    if (!stats.isFile()) throw new Error(`${address} must be a regular file`);
    if (stats.size > this.#bytesLeft) throw new Error(tooLarge);
    return await readFile(path);
  }

  async #fetch(url: URL, address: string, base: URL): Promise<Uint8Array> {
    if (url.origin !== base.origin) throw new Error(`${address} is not at ${base.origin}`);
    const signal = timeoutSignal(documentTimeoutMs);
    const response = await fetch(url, { redirect: 'error', signal });
    if (!response.ok) throw new Error(`${address} was answered with ${response.status}`);
    const read = await readBounded(response, this.#bytesLeft, signal);
    if (!read.isWhole) throw new Error(tooLarge);
    return read.bytes;
  }
}

const tooLarge = `it has more than ${maxDocumentBytes} bytes`;

/** YAML 1.2, with the merge keys (`<<`) of 1.1, which documents use. */
const yamlSchema = CORE_SCHEMA.extend({
  implicit: [
    new Type('tag:yaml.org,2002:merge', { kind: 'scalar', resolve: (key) => key === '<<' }),
  ],
});

/** @throws {Error} neither JSON nor YAML, or too much of it */
function parsed(text: string, filename: string): unknown {
  const value = valueOf(text, filename);
  measure(value);
  return value;
}

function valueOf(text: string, filename: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // YAML is a superset of JSON: its error covers both.
    return load(text, {
      filename,
      schema: yamlSchema,
      maxDepth,
      maxTotalMergeKeys: maxValues,
    } as never);
  }
}

/** @throws {Error} more values than a document may have, or one that contains itself */
function measure(root: unknown): void {
  const sizes = new Map<object, number>();
  const sizeOf = (value: unknown, depth: number): number => {
    if (typeof value !== 'object' || value === null) return 1;
    const known = sizes.get(value);
    if (known === Infinity) throw new Error('it has a value that contains itself');
    if (known !== undefined) return known;
    if (depth > maxDepth) throw new Error(`it is nested more than ${maxDepth} levels deep`);
    sizes.set(value, Infinity);
    let size = 1;
    for (const each of Object.values(value)) size += sizeOf(each, depth + 1);
    if (size > maxValues) throw new Error(`it has more than ${maxValues} values`);
    sizes.set(value, size);
    return size;
  };
  sizeOf(root, 0);
}

/** A version may be a number: YAML reads an unquoted `2.0` so. */
function versionIn(document: unknown): string {
  const { openapi, swagger } = (document ?? {}) as JsonValue;
  const version = openapi ?? swagger;
  return typeof version === 'number' ? version.toFixed(1) : String(version);
}

function checkVersion(document: unknown): void {
  const { openapi } = (document ?? {}) as JsonValue;
  const version = versionIn(document);
  if (openapi === undefined ? version === '2.0' : /^3\.[012]\b/.test(version)) return;
  throw new Error('it has neither "openapi": "3.0" or "3.1" nor "swagger": "2.0"');
}

/** True if a part lies in another file. */
function hasOutside(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const { $ref } = value as JsonValue;
  if (typeof $ref === 'string' && !$ref.startsWith('#')) return true;
  return Object.values(value).some(hasOutside);
}
