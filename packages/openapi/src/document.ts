/**
 * Reading OpenAPI documents: from a value, a file or a URL, JSON or YAML, in bounds. Documents of 2.0 and 3.0
 * become 3.1, whose schemas are JSON Schema 2020-12.
 */
import { readFile, realpath, stat } from 'node:fs/promises';
import { dirname, relative, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { $RefParser } from '@apidevtools/json-schema-ref-parser';
import { upgrade } from '@scalar/openapi-upgrader';
import { readBounded } from './bounded.ts';

/** A value of a document. */
export type JsonValue = { readonly [member: string]: unknown };

/** A document that has been read. */
export interface ReadDocument {
  /** Of version 3.1. References into itself are references still. */
  readonly document: JsonValue;
  /** Where it is from: addresses in it are relative to this. Undefined for a value. */
  readonly base: URL | undefined;
}

/** How large a document, or a part of it in a file of its own, may be: bytes. */
const maxDocumentBytes = 64 * 1024 * 1024;

/** How long a document may take to come, milliseconds. */
const documentTimeoutMs = 30_000;

/**
 * Reads a document. Parts of it in other files are read if they lie in its folder, and from its own origin if
 * it has a URL.
 *
 * @param source a document, the path of a file, or a URL
 * @throws {Error} it cannot be read, or is not an OpenAPI document: the message says what is wrong
 */
export async function readDocument(source: string | URL | JsonValue): Promise<ReadDocument> {
  const base = baseOf(source);
  const parser = new $RefParser();
  // The parser tells only that something could not be read, not why.
  const faults: unknown[] = [];
  const read = ({ url }: { readonly url: string }) =>
    readPart(url, base).catch((error: unknown) => {
      faults.push(error);
      throw error;
    });
  const only = { order: 1, canRead: true, read };
  const options = { resolve: { file: false, http: false, only } } as const;
  try {
    // As a value of our own: a document that was given is not changed.
    const given = base ? base.href : (structuredClone(source) as object);
    const parsed = (await parser.parse(given, options)) as JsonValue;
    refuseOthers(parsed);
    const whole = hasOutside(parsed)
      ? await parser.bundle(base?.href ?? 'memory:', parsed, options)
      : parsed;
    return { document: upgrade(whole as never, '3.1') as unknown as JsonValue, base };
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

async function readPart(address: string, base: URL | undefined): Promise<string> {
  if (!base) throw new Error(`a document that is a value has no other files; it names ${address}`);
  const url = new URL(address, base);
  if (base.protocol === 'file:') {
    if (url.protocol !== 'file:') throw new Error(`it is a file, and may not name ${address}`);
    const [path, folder] = await Promise.all([
      realpath(fileURLToPath(url)),
      realpath(dirname(fileURLToPath(base))),
    ]).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error;
      const what = url.href === base.href ? 'it' : address;
      throw new Error(`${what} does not exist`, { cause: error });
    });
    if (relative(folder, path).startsWith('..')) {
      throw new Error(`${address} lies outside of the document's folder`);
    }
    const { size } = await stat(path);
    if (size > maxDocumentBytes)
      throw new Error(`${address} has more than ${maxDocumentBytes} bytes`);
    return await readFile(path, 'utf8');
  }
  if (url.origin !== base.origin) throw new Error(`${address} is not at ${base.origin}`);
  const response = await fetch(url, {
    redirect: 'error',
    signal: AbortSignal.timeout(documentTimeoutMs),
  });
  if (!response.ok) throw new Error(`${address} was answered with ${response.status}`);
  const read = await readBounded(response, maxDocumentBytes);
  if (!read.isWhole) throw new Error(`${address} has more than ${maxDocumentBytes} bytes`);
  return new TextDecoder().decode(read.bytes);
}

function refuseOthers(parsed: unknown): void {
  const { openapi, swagger } = (parsed ?? {}) as JsonValue;
  if (/^3\.[012]\b/.test(String(openapi)) || String(swagger) === '2.0') return;
  throw new Error('it has neither "openapi": "3.0" or "3.1" nor "swagger": "2.0"');
}

/** Whether a part lies in another file. */
function hasOutside(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const { $ref } = value as JsonValue;
  if (typeof $ref === 'string' && !$ref.startsWith('#')) return true;
  return Object.values(value).some(hasOutside);
}
