/**
 * Headers that mirror a tool's parameters. If a server reports a mismatch, its tools are listed
 * again to learn the declared headers.
 *
 * @see MCP 2026-07-28, basic/transports/streamable-http, "Client Behavior"
 */
import type { Report } from '../../../../src/actors/facts.ts';
import { isJsonObject } from '../../../../src/protocol/classify.ts';
import type { InboundFrame, JsonObject, OutboundRequest } from '../../../../src/protocol/frames.ts';
import { encodeHeaderValue, mcpNameMembers } from '../../../../src/protocol/header-values.ts';
import { quoted } from '../../../../src/protocol/printable.ts';
import { ListedParameters, mirroredValue } from '../../../schema/src/mirrored-parameters.ts';
import type { MirroredParameter } from '../../../schema/src/mirrored-parameters.ts';
import { Post } from './post.ts';
import type { PostingChannel } from './post.ts';

/** Maximum pages of a list. */
const maxPages = 100;

/**
 * Fetches all pages of the list, on behalf of the call. Resolves even without a list: the call is
 * then resent with the known headers.
 */
export async function learnTools(call: Post, channel: PostingChannel): Promise<void> {
  let cursor: unknown = undefined;
  for (let page = 1; page <= maxPages; page++) {
    // The host's other ids are integers, so this id is unique.
    const id = `${call.id}/tools/${page}` as OutboundRequest['id'];
    // Progress of the list is not delivered to anyone.
    const _meta = {
      ...(call.params?.['_meta'] as JsonObject | undefined),
      progressToken: undefined,
    };
    const params = { _meta, cursor };
    const frame: OutboundRequest = { jsonrpc: '2.0', id, method: 'tools/list', params };
    const result = await resultOf(frame, channel, call.signal);
    if (!result) return;
    cursor = result['nextCursor'];
    if (typeof cursor !== 'string') return;
  }
}

/** The result, after {@link ToolParameters} has read it. */
async function resultOf(
  frame: OutboundRequest,
  channel: PostingChannel,
  signal: AbortSignal,
): Promise<JsonObject | undefined> {
  let result: JsonObject | undefined = undefined;
  const heard = (frames: readonly InboundFrame[]): void => {
    for (const answer of frames) {
      if (answer.kind === 'response' && answer.outcome.ok) result = answer.outcome.result;
    }
  };
  const post = new Post(frame, JSON.stringify(frame), channel, {
    heard,
    reportTo: { send: () => {} },
  });
  const cancel = (): void => post.cancel();
  signal.addEventListener('abort', cancel);
  void post.send();
  await post.ended;
  signal.removeEventListener('abort', cancel);
  return result;
}

/** Headers of a request besides its version. */
export function mirroredHeaders(
  method: string,
  params: JsonObject | undefined,
  parameters: readonly MirroredParameter[] = [],
): Record<string, string> {
  const headers: Record<string, string> = { 'mcp-method': encodeHeaderValue(method) };
  const name = params?.[mcpNameMembers.get(method) ?? ''];
  if (typeof name === 'string') headers['mcp-name'] = encodeHeaderValue(name);
  for (const { name: parameter, path } of parameters) {
    const text = textOf(mirroredValue(params, path));
    if (text !== undefined) headers[`mcp-param-${parameter}`] = encodeHeaderValue(text);
  }
  return headers;
}

/** Undefined if there is no value to mirror, or if the tool would reject it anyway. */
function textOf(value: unknown): string | undefined {
  switch (typeof value) {
    case 'string':
      return value;
    case 'boolean':
      return String(value);
    case 'number':
      return Number.isInteger(value) ? BigInt(value).toString() : String(value);
    default:
      return undefined;
  }
}

export class ToolParameters {
  readonly #listed = new ListedParameters();
  readonly #report: Report;

  constructor(report: Report) {
    this.#report = report;
  }

  /** Mirrored parameters of a tool; empty if no list contained it. */
  of(tool: unknown): readonly MirroredParameter[] {
    return this.#listed.of(tool) ?? [];
  }

  /**
   * Parses the result of `tools/list`, and returns it without the tools that must not be called.
   */
  read(result: JsonObject): JsonObject {
    const { tools } = result;
    if (!Array.isArray(tools)) return result;
    const valid = (tools as readonly unknown[]).filter((tool) => this.#readTool(tool));
    return { ...result, tools: valid };
  }

  #readTool(tool: unknown): boolean {
    // Malformed tools are reported where tools are parsed.
    if (!isJsonObject(tool) || typeof tool['name'] !== 'string') return true;
    const fault = this.#listed.read(tool);
    if (fault === undefined) return true;
    const message = `Ignored the tool ${quoted(tool['name'])}: ${fault}`;
    this.#report({ level: 'warning', name: 'tool.leftOut', message });
    return false;
  }
}
