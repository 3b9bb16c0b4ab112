/**
 * Request headers of the stateless era that mirror the body.
 *
 * @see MCP 2026-07-28, basic/transports/streamable-http, "Request Metadata"
 */
import type { JsonObject } from 'mcp-actors';
import { MetaKey, isJsonObject } from 'mcp-actors/internal';
import { messagesIn } from '../message.ts';

export interface Headers {
  readonly [name: string]: string;
}

const nameOf: { readonly [method: string]: string } = {
  'tools/call': 'name',
  'prompts/get': 'name',
  'resources/read': 'uri',
};

/** A tool argument mirrored in a header. */
interface MirroredArgument {
  readonly header: string;
  readonly path: readonly string[];
}

/** Tracks which tool arguments have headers, from the tool lists received. */
export class MirroredHeaders {
  readonly #revision: string;
  readonly #arguments = new Map<string, readonly MirroredArgument[]>();

  /** @param revision default for requests without a revision */
  constructor(revision: string) {
    this.#revision = revision;
  }

  /** Reads the tools listed in a message from the server, if any. */
  learn(value: unknown): void {
    for (const { result } of messagesIn(value)) {
      const tools = isJsonObject(result) ? result['tools'] : undefined;
      for (const tool of messagesIn(Array.isArray(tools) ? tools : [])) {
        const { name, inputSchema } = tool;
        if (typeof name === 'string') this.#arguments.set(name, [...annotated(inputSchema, [])]);
      }
    }
  }

  of({ method, params }: JsonObject): Headers {
    const said = isJsonObject(params) ? params : {};
    const meta = isJsonObject(said['_meta']) ? said['_meta'] : {};
    const version = meta[MetaKey.protocolVersion];
    const headers: { [name: string]: string } = {
      'mcp-protocol-version': typeof version === 'string' ? version : this.#revision,
    };
    if (typeof method !== 'string') return headers;
    headers['mcp-method'] = method;
    const name = said[nameOf[method] ?? ''];
    if (typeof name === 'string') headers['mcp-name'] = encoded(name);
    if (method !== 'tools/call') return headers;
    for (const { header, path } of this.#arguments.get(String(name)) ?? []) {
      const value = path.reduce<unknown>(
        (at, key) => (isJsonObject(at) ? at[key] : undefined),
        said['arguments'],
      );
      if (['string', 'number', 'boolean'].includes(typeof value)) {
        headers[`mcp-param-${header.toLowerCase()}`] = encoded(String(value));
      }
    }
    return headers;
  }
}

/** Annotated properties of a schema with their paths. */
function* annotated(schema: unknown, path: readonly string[]): Generator<MirroredArgument> {
  const properties = isJsonObject(schema) ? schema['properties'] : undefined;
  if (!isJsonObject(properties)) return;
  for (const [key, property] of Object.entries(properties)) {
    if (!isJsonObject(property)) continue;
    const header = property['x-mcp-header'];
    // An invalid header name makes the tool invalid; a call without the header reveals that.
    if (typeof header === 'string' && /^[\w!#$%&'*+.^`|~-]+$/.test(header)) {
      yield { header, path: [...path, key] };
    }
    yield* annotated(property, [...path, key]);
  }
}

/** Encodes a value for a header. */
function encoded(value: string): string {
  const isPlain = /^(?:[\x21-\x7e](?:[\x20-\x7e\t]*[\x21-\x7e])?)?$/.test(value);
  const looksEncoded = value.startsWith('=?base64?') && value.endsWith('?=');
  return isPlain && !looksEncoded
    ? value
    : `=?base64?${Buffer.from(value, 'utf8').toString('base64')}?=`;
}
