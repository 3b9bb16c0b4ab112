/** Hides some tools of a server: hidden tools are not listed, and calling one fails like an unknown name. */
import { isJsonObject } from '../../../src/protocol/classify.ts';
import { invalidParams } from '../../../src/protocol/errors.ts';
import type { JsonObject } from '../../../src/protocol/frames.ts';
import { quoted } from '../../../src/protocol/printable.ts';
import { toolIn } from './bridged-server.ts';
import type { OpenedServer, ServerList } from './bridged-server.ts';

/** Whether a list of tools is complete, its last page, or another page. */
export type ListPart = 'whole' | 'last' | 'other';

/** Chooses the tools to hide. */
export interface HoldingBack {
  readonly among: (tools: readonly JsonObject[], part: ListPart) => ReadonlyMap<string, string>;
  /** True if only the tool's name matters, so a known tool needs no new list. */
  readonly byName: boolean;
}

/** A server with its offered tools, and the lookup of a called tool. */
export interface Offering {
  readonly server: OpenedServer;
  /**
   * Finds the listed tool that a call names.
   *
   * @throws {ProtocolError} -32602: the tool does not exist or is hidden
   */
  readonly calledTool: (params: JsonObject | undefined) => Promise<JsonObject>;
}

export function withOffered(opened: OpenedServer, { among, byName }: HoldingBack): Offering {
  let held: ReadonlyMap<string, string> = new Map();
  let known: ServerList = { items: [], ttlMs: undefined };
  const list = async (name: Parameters<OpenedServer['list']>[0]): Promise<ServerList> => {
    const whole = await opened.list(name);
    if (name !== 'tools') return whole;
    held = among(whole.items, 'whole');
    return (known = { ...whole, items: offered(whole.items, held) });
  };
  const calledTool: Offering['calledTool'] = async (params) => {
    const name = params?.['name'];
    if (typeof name !== 'string') throw invalidParams('"name" must be a string');
    const tool = (byName && toolIn(known, name)) || toolIn(await list('tools'), name);
    if (tool) return tool;
    throw invalidParams(`There is no tool ${quoted(name)}`);
  };
  const request: OpenedServer['request'] = async (method, params, context, asks) => {
    if (method === 'tools/call') await calledTool(params);
    const result = await opened.request(method, params, context, asks);
    const { tools, nextCursor } = result;
    if (method !== 'tools/list' || !Array.isArray(tools)) return result;
    const items = tools.filter(isNamed);
    const isWhole = (params?.['cursor'] ?? undefined) === undefined && nextCursor === undefined;
    const ofPage = among(items, isWhole ? 'whole' : nextCursor === undefined ? 'last' : 'other');
    held = isWhole ? ofPage : new Map([...held, ...ofPage]);
    return { ...result, tools: offered(items, ofPage) };
  };
  const heldBack = () => [
    ...(opened.heldBack?.() ?? []),
    ...[...held].map(([tool, why]) => ({ tool, why })),
  ];
  return { server: { ...opened, list, request, heldBack }, calledTool };
}

const isNamed = (tool: unknown): tool is JsonObject =>
  isJsonObject(tool) && typeof tool['name'] === 'string';

const offered = (tools: readonly JsonObject[], held: ReadonlyMap<string, string>) =>
  held.size === 0 ? tools : tools.filter((tool) => !held.has(String(tool['name'])));
