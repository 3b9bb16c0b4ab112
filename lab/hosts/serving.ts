/** Serves a module over HTTP in a process, to the official clients of both eras. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Client as LegacyClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as LegacyTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { build } from 'esbuild';

const examples = fileURLToPath(new URL('../../examples/http', import.meta.url));

export interface Program {
  readonly program: string;
  readonly args: readonly string[];
  /** Working directory. */
  readonly folder: string;
  /** True if it exits gracefully on SIGTERM. */
  readonly endsBySignal?: boolean | undefined;
}

/** Runs a program that serves `/mcp` on a loopback port; returns the faults clients find. */
export async function served(program: Program, at: number): Promise<readonly string[]> {
  const { args, folder, endsBySignal = false } = program;
  const child = spawn(program.program, args, {
    cwd: folder,
    env: { ...process.env, PORT: `${at}`, BUN_PORT: `${at}` },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const exit = once(child, 'exit') as Promise<[code: number | null, signal: string | null]>;
  let said = '';
  for (const output of [child.stdout, child.stderr]) {
    output.setEncoding('utf8').on('data', (text: string) => (said += text));
  }
  const url = new URL(`http://127.0.0.1:${at}/mcp`);
  const faults = [];
  try {
    await listening(url);
    for (const [era, greet] of Object.entries(clients)) {
      const answer = await greet(url).catch((error: unknown) => String(error));
      if (!answer.includes('Hello Ada, at /mcp')) faults.push(`${era}: ${answer}; ${said}`);
    }
  } catch (error) {
    faults.push(`${String(error)}; ${said}`);
  } finally {
    child.kill();
  }
  const [code, signal] = await exit;
  if (endsBySignal && code !== 0) faults.push(`It ended with ${signal ?? code}; ${said}`);
  return faults;
}

const clientInfo = { name: 'hosts', version: '1' };
const greeting = { name: 'greet', arguments: { who: 'Ada' } };

/** Each calls the example's tool, once with valid and once with invalid arguments. */
const clients: { readonly [name: string]: (url: URL) => Promise<string> } = {
  'SDK 1.32.2, 2025-11-25': async (url) => {
    const client = new LegacyClient(clientInfo);
    await client.connect(new LegacyTransport(url) as Transport);
    return answers(client);
  },
  'SDK 2.4.0, 2026-07-28': async (url) => {
    const mode = { pin: '2026-07-28' } as const;
    const client = new Client(clientInfo, { versionNegotiation: { mode } });
    await client.connect(new StreamableHTTPClientTransport(url));
    return answers(client);
  },
};

async function answers(client: Calling): Promise<string> {
  const answer = JSON.stringify(await client.callTool(greeting));
  const refused = await client.callTool({ name: 'greet', arguments: { who: 1 } });
  await client.close();
  return 'isError' in refused ? answer : 'it takes arguments of any type';
}

interface Calling {
  callTool(params: { name: string; arguments: { who: string | number } }): Promise<object>;
  close(): Promise<void>;
}

/**
 * Builds a module of the HTTP examples without its dependencies, for a folder that has them
 * installed.
 */
export async function buildModule(outfile: string, source: string): Promise<void> {
  await build({
    stdin: { contents: source, resolveDir: examples },
    outfile,
    bundle: true,
    format: 'esm',
    platform: 'node',
    // Ignore the paths of tsconfig.json, which point to the sources.
    tsconfigRaw: {},
    packages: 'external',
    // The repository declares its modules free of side effects, but a program consists of them.
    ignoreAnnotations: true,
    logLevel: 'warning',
  });
}

/** A free loopback port. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  return port;
}

/** @throws {Error} if nothing listens there within 20 seconds */
async function listening(url: URL): Promise<void> {
  for (let left = 200; left > 0; left--) {
    const answer = await fetch(url).catch(() => undefined);
    await answer?.body?.cancel();
    if (answer) return;
    await delay(100);
  }
  throw new Error('It does not listen');
}
