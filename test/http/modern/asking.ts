/** Requests of 2026-07-28 over HTTP, as a careful client sends them; and what is said to one that is not. */
import type { JsonObject } from 'mcp-actors';
import { enveloped } from 'mcp-actors/testing';
import type { EnvelopeOptions } from 'mcp-actors/testing';
import { expect } from 'vitest';
import { officialSchemas } from '../../contract/official-schemas.ts';
import { post } from '../serving.ts';

/** A message, as it was sent or received. */
export interface Frame {
  readonly id?: unknown;
  readonly method?: string;
  readonly params?: JsonObject;
  readonly result?: JsonObject;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
}

export interface Asking extends EnvelopeOptions {
  readonly id?: unknown;
  /** In place of the ones that the request demands; one that is undefined is left out. */
  readonly headers?: { readonly [name: string]: string | undefined };
  readonly signal?: AbortSignal;
}

/** The headers that a request must have. */
export function headersOf({ method = '', params = {} }: Frame): { [name: string]: string } {
  const { name, uri, taskId, _meta } = params as { readonly [name: string]: unknown };
  const named = method.startsWith('tasks/') ? taskId : (name ?? uri);
  const version = (_meta as JsonObject | undefined)?.['io.modelcontextprotocol/protocolVersion'];
  return {
    'mcp-protocol-version': typeof version === 'string' ? version : '2026-07-28',
    'mcp-method': method,
    ...(typeof named === 'string' ? { 'mcp-name': named } : {}),
  };
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  /** The messages that came, the response last. */
  readonly frames: readonly Frame[];
  readonly result: JsonObject | undefined;
  readonly error: Frame['error'];
}

/** Posts a request. The answer is there with its headers. */
export function request(
  url: URL,
  method: string,
  params: JsonObject = {},
  { id = 1, headers, signal, ...envelope }: Asking = {},
): Promise<Response> {
  const message = enveloped(id, method, params, envelope);
  const wanted = { ...headersOf(message as Frame), ...headers };
  const given = Object.entries(wanted).filter(([, value]) => value !== undefined);
  return post(url, message, Object.fromEntries(given), signal);
}

/** Posts a request, reads the whole answer, and holds each of its messages to the official schemas. */
export async function ask(
  url: URL,
  method: string,
  params: JsonObject = {},
  asking: Asking = {},
): Promise<Answer> {
  const response = await request(url, method, params, asking);
  const frames = await framesOf(response);
  const sent = enveloped(asking.id ?? 1, method, params, asking) as Frame;
  for (const frame of frames) check(frame, sent);
  const last = frames.at(-1);
  return {
    status: response.status,
    headers: response.headers,
    frames,
    result: last?.result,
    error: last?.error,
  };
}

/** What the official schemas say against a message that answers a request. */
export function check(frame: Frame, sent: Frame): void {
  const fault =
    frame.method === undefined
      ? officialSchemas(frame, sent.method, sent.params)
      : officialSchemas(frame, undefined);
  expect(fault).toBeUndefined();
}

/** Calls a tool. */
export const callTool = (url: URL, name: string, args: JsonObject = {}, asking: Asking = {}) =>
  ask(url, 'tools/call', { name, arguments: args }, asking);

/** The messages of an answer, JSON or a stream. */
export async function framesOf(response: Response): Promise<readonly Frame[]> {
  const text = await response.text();
  if (text === '') return [];
  if (!response.headers.get('content-type')?.startsWith('text/event-stream')) {
    return [JSON.parse(text) as Frame];
  }
  return text.split('\n\n').flatMap(framesOfEvent);
}

function framesOfEvent(event: string): Frame[] {
  const data = /^data: (.*)$/m.exec(event)?.[1];
  return data === undefined ? [] : [JSON.parse(data) as Frame];
}

/** A stream that is read as it comes. */
export class ReadStream {
  /** Comments and events that have come, as they are written. */
  readonly #parts: AsyncGenerator<string>;

  constructor(response: Response) {
    this.#parts = partsOf(response);
  }

  /** The next message. @throws {Error} the stream has ended */
  async frame(): Promise<Frame> {
    for (;;) {
      const [frame] = framesOfEvent(await this.part());
      if (frame) return frame;
    }
  }

  /** The next event or comment. @throws {Error} the stream has ended */
  async part(): Promise<string> {
    const { value, done } = await this.#parts.next();
    if (done) throw new Error('The stream has ended');
    return value as string;
  }

  /** Resolves when the stream has ended. */
  async end(): Promise<void> {
    for await (const part of this.#parts) if (framesOfEvent(part).length > 0) throw new Error(part);
  }
}

async function* partsOf(response: Response): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    rest += decoder.decode(chunk, { stream: true });
    const parts = rest.split('\n\n');
    rest = parts.pop() ?? '';
    yield* parts;
  }
}
