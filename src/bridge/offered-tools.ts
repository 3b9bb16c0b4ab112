/**
 * A server with some of its tools, as if it had no others: those that are held back are not listed, and
 * a call of one fails as that of an unknown name does.
 */
import { isJsonObject } from '../protocol/classify.ts';
import { invalidParams } from '../protocol/errors.ts';
import type { JsonObject } from '../protocol/frames.ts';
import { quoted } from '../protocol/printable.ts';
import type { OpenedServer, ServerList } from './bridged-server.ts';

/** Says which tools are held back, with why. */
export interface HoldingBack {
  /** @param isWhole whether these are all tools of the server */
  readonly among: (tools: readonly JsonObject[], isWhole: boolean) => ReadonlyMap<string, string>;
  /** True if the name of a tool says enough, so that a call needs no list. */
  readonly byName: boolean;
}

/** The server with the tools that are offered. */
export function withOffered(opened: OpenedServer, { among, byName }: HoldingBack): OpenedServer {
  let held: ReadonlyMap<string, string> = new Map();
  const list = async (name: Parameters<OpenedServer['list']>[0]): Promise<ServerList> => {
    const whole = await opened.list(name);
    if (name !== 'tools') return whole;
    held = among(whole.items, true);
    return { ...whole, items: offered(whole.items, held) };
  };
  const has = async (name: unknown): Promise<boolean> => {
    if (byName) return among([{ name }], false).size === 0;
    const { items } = await list('tools');
    return items.some((tool) => tool['name'] === name);
  };
  const request: OpenedServer['request'] = async (method, params, context, asks) => {
    if (method === 'tools/call') {
      const name = params?.['name'];
      if (!(await has(name))) throw invalidParams(`There is no tool ${quoted(String(name))}`);
    }
    const result = await opened.request(method, params, context, asks);
    const { tools, nextCursor } = result;
    if (method !== 'tools/list' || !Array.isArray(tools)) return result;
    const items = tools.filter(isJsonObject);
    const isWhole = params?.['cursor'] === undefined && nextCursor === undefined;
    const ofPage = among(items, isWhole);
    held = isWhole ? ofPage : new Map([...held, ...ofPage]);
    return { ...result, tools: offered(items, ofPage) };
  };
  const heldBack = () => [
    ...(opened.heldBack?.() ?? []),
    ...[...held].map(([tool, why]) => ({ tool, why })),
  ];
  return { ...opened, list, request, heldBack };
}

const offered = (tools: readonly JsonObject[], held: ReadonlyMap<string, string>) =>
  held.size === 0 ? tools : tools.filter((tool) => !held.has(String(tool['name'])));
