/** The official client of both eras, over a real subprocess. */
import { Client } from '@modelcontextprotocol/client';
import type {
  CallToolResult,
  ClientCapabilities,
  ClientOptions,
} from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { expect, onTestFinished } from 'vitest';
import { gone, repository } from './server-process.ts';

export type Negotiation = NonNullable<ClientOptions['versionNegotiation']>['mode'];

/** A client restricted to this revision. */
export const modern: Negotiation = { pin: '2026-07-28' };

export interface BothErasOptions {
  /** Version negotiation. Default: automatic. */
  readonly mode?: Negotiation;
  readonly capabilities?: ClientCapabilities;
  readonly env?: { readonly [name: string]: string };
  /** Known client errors that are not the server's fault. */
  readonly tolerated?: RegExp;
}

/**
 * Starts Node with these arguments, and connects. Closed with the test, which fails if the client
 * reported errors.
 */
export async function connect(
  args: readonly string[],
  { mode = 'auto', capabilities = {}, env = {}, tolerated }: BothErasOptions = {},
): Promise<Client> {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [...args],
    cwd: repository,
    env: { ...env },
    stderr: 'ignore',
  });
  const client = new Client(
    { name: 'both-eras', version: '1' },
    { capabilities, versionNegotiation: { mode } },
  );
  const complaints: unknown[] = [];
  client.onerror = (error) => complaints.push(error);
  await client.connect(transport);
  const pid = transport.pid as number;
  onTestFinished(async () => {
    await client.close();
    await gone(pid);
    expect(complaints.filter((each) => !tolerated?.test(String(each)))).toEqual([]);
  });
  return client;
}

/** The text of a tool's result. */
export function textOf({ content }: CallToolResult): string {
  return content.map((block) => (block.type === 'text' ? block.text : '')).join('\n');
}
