/** What measures say to a server, and what they check of its answers. */
import type { Asked, Check, RawClient } from './raw-client.ts';

/** Without `listChanged`: some servers would then ask for the roots at a time of their own, amid what is counted. */
const capabilities = { roots: {}, sampling: {} };

/** The first request of a session. */
export const initialize: Asked = {
  method: 'initialize',
  params: {
    protocolVersion: '2025-06-18',
    capabilities,
    clientInfo: { name: 'bench', version: '0.0.0' },
  },
};

export const ping: Asked = { method: 'ping' };
export const listTools: Asked = { method: 'tools/list' };

/** A call of a tool. */
export function call(name: string, args: object): Asked {
  return { method: 'tools/call', params: { name, arguments: args } };
}

const envelope = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '0.0.0' },
  'io.modelcontextprotocol/clientCapabilities': {},
};

/** The same request as 2026-07-28 has it: it says itself who its client is. */
export function enveloped({ method, params }: Asked): Asked {
  return { method, params: { ...params, _meta: envelope } };
}

/** The server has introduced itself. */
export const isIntroduction: Check = (result) =>
  has(result, 'serverInfo') ? undefined : `no serverInfo in ${describe(result)}`;

/** An empty result, which may hold metadata. */
export const isEmpty: Check = (result) =>
  typeof result === 'object' && result !== null ? undefined : `no object: ${describe(result)}`;

/** These tools are there. */
export function areNamed(...expected: readonly string[]): Check {
  return (result) => {
    const tools = has(result, 'tools') && Array.isArray(result.tools) ? result.tools : [];
    const names = tools.map((tool: unknown) => (has(tool, 'name') ? tool.name : undefined));
    const missing = expected.filter((name) => !names.includes(name));
    return missing.length === 0 ? undefined : `no tools ${missing.join(', ')}`;
  };
}

/** All tools of the servers over stdio are there. */
export const areTools = areNamed('echo', 'fill', 'roots', 'sample');

/** The result is this one text. */
export function isText(expected: string): Check {
  return (result) => {
    const content = has(result, 'content') && Array.isArray(result.content) ? result.content : [];
    const [block]: unknown[] = content;
    if (content.length !== 1 || !has(block, 'text')) return `no text: ${describe(result)}`;
    return block.text === expected ? undefined : `another text: ${describe(block.text)}`;
  };
}

/** The result is complete, as 2026-07-28 demands that it says, and is this one text. */
export function isCompleteText(expected: string): Check {
  const check = isText(expected);
  return (result) =>
    has(result, 'resultType') && result.resultType === 'complete'
      ? check(result)
      : `no complete result: ${describe(result)}`;
}

/** What a client of 2026-07-28 asks first. */
export const discovery: Asked = { method: 'server/discover' };

/** The server says which revisions it speaks. */
export const isDiscovered: Check = (result) =>
  has(result, 'supportedVersions') ? undefined : `no supportedVersions in ${describe(result)}`;

/** The server speaks 2026-07-28, and says which tools it has. */
export async function discover(client: RawClient): Promise<void> {
  await client.request(enveloped(discovery), isDiscovered);
  await client.request(enveloped(listTools), areTools);
}

/** Takes a session to where its tools are known to the client. */
export async function greet(client: RawClient): Promise<void> {
  await client.request(initialize, isIntroduction);
  client.write([{ jsonrpc: '2.0', method: 'notifications/initialized' }]);
  await client.request(listTools, areTools);
  // A server that asks for the roots by itself has done so before it answers this.
  await client.request(ping, isEmpty);
}

function has<K extends string>(value: unknown, key: K): value is { readonly [key in K]: unknown } {
  return typeof value === 'object' && value !== null && key in value;
}

function describe(value: unknown): string {
  return (JSON.stringify(value) ?? 'nothing').slice(0, 200);
}
