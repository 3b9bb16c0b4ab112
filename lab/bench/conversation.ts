/** Requests that measures send to a server, and checks of the responses. */
import type { Asked, Check, RawClient } from './raw-client.ts';

/**
 * Without `listChanged`, because some servers would query the roots at unpredictable times during a
 * measurement.
 */
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

/** A tool call. */
export function call(name: string, args: object): Asked {
  return { method: 'tools/call', params: { name, arguments: args } };
}

const envelope = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '0.0.0' },
  'io.modelcontextprotocol/clientCapabilities': {},
};

/** The same request in the form of 2026-07-28, which identifies its client. */
export function enveloped({ method, params }: Asked): Asked {
  return { method, params: { ...params, _meta: envelope } };
}

/** The response to `initialize` identifies the server. */
export const isIntroduction: Check = (result) =>
  has(result, 'serverInfo') ? undefined : `no serverInfo in ${describe(result)}`;

/** An empty result, possibly with metadata. */
export const isEmpty: Check = (result) =>
  typeof result === 'object' && result !== null ? undefined : `no object: ${describe(result)}`;

/** The list contains these tools. */
export function areNamed(...expected: readonly string[]): Check {
  return (result) => {
    const tools = has(result, 'tools') && Array.isArray(result.tools) ? result.tools : [];
    const names = tools.map((tool: unknown) => (has(tool, 'name') ? tool.name : undefined));
    const missing = expected.filter((name) => !names.includes(name));
    return missing.length === 0 ? undefined : `no tools ${missing.join(', ')}`;
  };
}

/** The list contains all tools of the stdio servers. */
export const areTools = areNamed('echo', 'fill', 'roots', 'sample');

/** The result is exactly this text. */
export function isText(expected: string): Check {
  return (result) => {
    const content = has(result, 'content') && Array.isArray(result.content) ? result.content : [];
    const [block]: unknown[] = content;
    if (content.length !== 1 || !has(block, 'text')) return `no text: ${describe(result)}`;
    return block.text === expected ? undefined : `another text: ${describe(block.text)}`;
  };
}

/** The result is marked complete, as 2026-07-28 requires, and is exactly this text. */
export function isCompleteText(expected: string): Check {
  const check = isText(expected);
  return (result) =>
    has(result, 'resultType') && result.resultType === 'complete'
      ? check(result)
      : `no complete result: ${describe(result)}`;
}

/** The first request of a 2026-07-28 client. */
export const discovery: Asked = { method: 'server/discover' };

/** The response lists the supported revisions. */
export const isDiscovered: Check = (result) =>
  has(result, 'supportedVersions') ? undefined : `no supportedVersions in ${describe(result)}`;

/** Checks that the server supports 2026-07-28 and lists its tools. */
export async function discover(client: RawClient): Promise<void> {
  await client.request(enveloped(discovery), isDiscovered);
  await client.request(enveloped(listTools), areTools);
}

/** Performs the handshake and lists the tools. */
export async function greet(client: RawClient): Promise<void> {
  await client.request(initialize, isIntroduction);
  client.write([{ jsonrpc: '2.0', method: 'notifications/initialized' }]);
  await client.request(listTools, areTools);
  // By this response, a server that queries the roots itself has done so.
  await client.request(ping, isEmpty);
}

function has<K extends string>(value: unknown, key: K): value is { readonly [key in K]: unknown } {
  return typeof value === 'object' && value !== null && key in value;
}

function describe(value: unknown): string {
  return (JSON.stringify(value) ?? 'nothing').slice(0, 200);
}
