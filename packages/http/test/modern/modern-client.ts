/** Requests of 2026-07-28 over HTTP, well-formed or deliberately not. */
import type { JsonObject } from 'mcp-actors';
import { enveloped } from 'mcp-actors/testing';
import type { EnvelopeOptions } from 'mcp-actors/testing';
import { expect } from 'vitest';
import { officialSchemas } from '../../../../test/contract/official-schemas.ts';
import { messagesOf, post } from '../raw-client.ts';
import type { Message } from '../raw-client.ts';

export interface ModernRequestOptions extends EnvelopeOptions {
  readonly id?: unknown;
  /** Overrides of the required headers; undefined removes one. */
  readonly headers?: { readonly [name: string]: string | undefined };
  readonly signal?: AbortSignal;
}

/** Required headers of a request. */
export function headersOf({ method = '', params = {} }: Message): { [name: string]: string } {
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
  /** Received messages, the response last. */
  readonly frames: readonly Message[];
  readonly result: JsonObject | undefined;
  readonly error: Message['error'];
}

/** Posts a request; resolves with the response headers. */
export function request(
  url: URL,
  method: string,
  params: JsonObject = {},
  { id = 1, headers, signal, ...envelope }: ModernRequestOptions = {},
): Promise<Response> {
  const message = enveloped(id, method, params, envelope);
  const wanted = { ...headersOf(message as Message), ...headers };
  const given = Object.entries(wanted).filter(([, value]) => value !== undefined);
  return post(url, message, Object.fromEntries(given), signal);
}

/**
 * Posts a request, reads the whole answer and validates each message against the official schemas.
 */
export async function ask(
  url: URL,
  method: string,
  params: JsonObject = {},
  asking: ModernRequestOptions = {},
): Promise<Answer> {
  const response = await request(url, method, params, asking);
  const frames = await messagesOf(response);
  const sent = enveloped(asking.id ?? 1, method, params, asking) as Message;
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

/** Validates an answering message against the official schemas. */
export function check(frame: Message, sent: Message): void {
  const fault =
    frame.method === undefined
      ? officialSchemas(frame, sent.method, sent.params)
      : officialSchemas(frame, undefined);
  expect(fault).toBeUndefined();
}

export const callTool = (
  url: URL,
  name: string,
  args: JsonObject = {},
  asking: ModernRequestOptions = {},
) => ask(url, 'tools/call', { name, arguments: args }, asking);
