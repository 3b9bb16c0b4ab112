/** The official SDK's client over a real subprocess. */
import type { Readable } from 'node:stream';
import { pathToFileURL } from 'node:url';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';
import type { CallToolResult, ClientCapabilities } from '@modelcontextprotocol/sdk/types.js';
import { expect } from 'vitest';
import { LineStream, eachLine } from './line-stream.ts';
import { gone, repository } from './server-process.ts';
import type { Line } from './server-process.ts';

const connected = new Set<SdkClient>();

/**
 * Stops all clients' servers, and checks that their processes are gone and the clients reported no
 * errors.
 */
export async function closeClients(): Promise<void> {
  const clients = [...connected];
  connected.clear();
  for (const { client, pid, complaints, tolerated } of clients) {
    await client.close();
    // The client does not wait for a process that it has to kill.
    await gone(pid);
    expect(complaints.filter((each) => !tolerated?.test(String(each)))).toEqual([]);
  }
}

export interface ConnectOptions {
  readonly capabilities?: ClientCapabilities;
  /** The client's roots. If set, the client declares the capability. */
  readonly roots?: readonly string[];
  readonly cwd?: string;
  readonly env?: { readonly [name: string]: string };
  /** Known client errors that are not the server's fault. */
  readonly tolerated?: RegExp;
}

/** Starts Node with these arguments and initializes. */
export async function connect(
  args: readonly string[],
  { capabilities = {}, roots, cwd = repository, env = {}, tolerated }: ConnectOptions = {},
): Promise<SdkClient> {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [...args],
    cwd,
    env: { ...env },
    stderr: 'pipe',
  });
  const rootsCapability = roots === undefined ? {} : { roots: { listChanged: true } };
  const client = new Client(
    { name: 'e2e', version: '1' },
    { capabilities: { ...capabilities, ...rootsCapability } },
  );
  const sdk = new SdkClient(client, transport, roots);
  await client.connect(transport);
  sdk.pid = transport.pid as number;
  sdk.tolerated = tolerated;
  connected.add(sdk);
  return sdk;
}

/**
 * Starts Node with these arguments, with a client that has a root and answers sampling and
 * elicitation immediately.
 */
export async function connectAnswering(args: readonly string[]): Promise<SdkClient> {
  const capabilities = { sampling: {}, elicitation: {} };
  const sdk = await connect(args, { capabilities, roots: [repository] });
  sdk.client.setRequestHandler(CreateMessageRequestSchema, () => ({
    model: 'none',
    role: 'assistant',
    content: { type: 'text', text: 'Hello.' },
  }));
  sdk.client.setRequestHandler(ElicitRequestSchema, () => ({
    action: 'accept',
    content: { name: 'Ada' },
  }));
  return sdk;
}

export class SdkClient {
  readonly client: Client;
  readonly log = new LineStream<Line>('log line');
  readonly complaints: unknown[] = [];
  pid = 0;
  tolerated: RegExp | undefined = undefined;
  rootsAsked = 0;
  #roots: readonly string[];

  constructor(
    client: Client,
    transport: StdioClientTransport,
    roots: readonly string[] | undefined,
  ) {
    this.client = client;
    this.#roots = roots ?? [];
    client.onerror = (error) => this.complaints.push(error);
    eachLine(transport.stderr as Readable, (line) => {
      this.log.push(JSON.parse(line) as Line);
    });
    if (roots === undefined) return;
    client.setRequestHandler(ListRootsRequestSchema, () => {
      this.rootsAsked += 1;
      return { roots: this.#roots.map((path) => ({ uri: pathToFileURL(path).href })) };
    });
  }

  /** Changes the roots and announces the change. */
  async changeRoots(roots: readonly string[]): Promise<void> {
    this.#roots = roots;
    await this.client.sendRootsListChanged();
  }

  /** Calls a tool and returns its structured content. Fails on an error result. */
  async call(name: string, args: { [argument: string]: unknown } = {}): Promise<Line> {
    const result = await this.callRaw(name, args);
    expect(result.isError ?? false, textOf(result)).toBe(false);
    return result.structuredContent as Line;
  }

  async callRaw(name: string, args: { [argument: string]: unknown } = {}): Promise<CallToolResult> {
    return (await this.client.callTool({ name, arguments: args })) as CallToolResult;
  }
}

/** The text of a tool's result. */
export function textOf({ content }: CallToolResult): string {
  return content.map((block) => (block.type === 'text' ? block.text : '')).join('\n');
}
