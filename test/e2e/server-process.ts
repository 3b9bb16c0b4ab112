/**
 * A server in a separate process with raw lines. Each line of its stdout is checked against the
 * official schemas.
 */
import { spawn } from 'node:child_process';
import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, vi } from 'vitest';
import { isResponseFrame } from 'mcp-actors/testing';
import { SentRequests } from '../../packages/testing/src/peer.ts';
import { officialSchemas } from '../contract/official-schemas.ts';
import { program } from '../tooling/programs.ts';
import { LineStream, eachLine } from './line-stream.ts';

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** Root of the repository. */
export const repository = here('../..');
/** Path of the built command. */
export const command = [here('../../packages/cli/dist/cli.js')];
/** The workspace server of the command. */
export const workspaceCommand = [...command, 'workspace'];
/** Path of the laboratory server. */
export const lab = program('examples/lab/server.ts');

/** A message or a log line, parsed. */
export type Line = { readonly [field: string]: unknown };

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface LaunchOptions {
  readonly cwd?: string;
  readonly env?: { readonly [name: string]: string };
  /** True to leave stdout unread, like a hanging client. */
  readonly unread?: 'stdout';
}

const running = new Set<ServerProcess>();

/**
 * Kills remaining processes of a test, and checks that all are gone and that stdout contained only
 * messages.
 */
export async function reapServers(): Promise<void> {
  const servers = [...running];
  // Ids of processes that ended earlier may have been reused.
  const ended = new Set(
    servers.filter(({ child }) => child.exitCode !== null || child.signalCode !== null),
  );
  running.clear();
  for (const { child } of servers) {
    child.kill('SIGKILL');
    child.stdout.resume();
  }
  await Promise.all(servers.map(({ exit }) => exit));
  for (const server of servers) {
    const { child, violations } = server;
    if (!ended.has(server)) expect(() => process.kill(child.pid as number, 0)).toThrow('ESRCH');
    expect(violations).toEqual([]);
  }
}

/** Waits until a process is gone that need not be a child of this one. */
export async function gone(pid: number): Promise<void> {
  await vi.waitFor(() => expect(() => process.kill(pid, 0)).toThrow('ESRCH'), {
    timeout: 100_000,
    interval: 10,
  });
}

/** Starts Node with these arguments. */
export function launch(args: readonly string[], options: LaunchOptions = {}): ServerProcess {
  const server = new ServerProcess(args, options);
  running.add(server);
  return server;
}

export class ServerProcess {
  readonly child: ChildProcessWithoutNullStreams;
  /** Resolves once the process has ended and its output has been read. */
  readonly exit: Promise<Exit>;
  readonly messages = new LineStream<Line>('message');
  readonly log = new LineStream<Line>('log line');
  /** Answers to the server's requests, by method. Others stay unanswered. */
  readonly answers = new Map<string, (request: Line) => object>();
  /** Invalid lines of stdout, and malformed log lines. */
  readonly violations: string[] = [];
  stderr = '';
  readonly #asked = new SentRequests();

  constructor(args: readonly string[], { cwd = repository, env = {}, unread }: LaunchOptions) {
    this.child = spawn(process.execPath, args, {
      cwd,
      env: { ...process.env, ...env },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    // The process may end before it has read everything.
    this.child.stdin.on('error', () => {});
    this.exit = new Promise((resolve) => {
      this.child.on('close', (code, signal) => {
        const why = `the process ended with ${code ?? signal}; stderr: ${this.stderr}`;
        this.messages.end(why);
        this.log.end(why);
        resolve({ code, signal });
      });
    });
    if (unread === undefined) eachLine(this.child.stdout, (line) => this.#readMessage(line));
    eachLine(this.child.stderr, (line) => {
      this.stderr += `${line}\n`;
      if (line.startsWith('{"')) this.#readLog(line);
    });
  }

  /** Sends messages in one chunk. */
  send(...messages: readonly object[]): void {
    const lines = messages.map((message) => `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
    void this.write(lines.join(''));
  }

  /** Sends bytes or text unchanged. Resolves once the process has them. */
  write(chunk: string | Uint8Array): Promise<unknown> {
    this.#asked.addRaw(chunk);
    return new Promise((resolve) => this.child.stdin.write(chunk, resolve));
  }

  /** Closes the process's stdin, after this input. */
  end(chunk: string | Uint8Array = ''): void {
    this.#asked.addRaw(chunk);
    this.#asked.end();
    this.child.stdin.end(chunk);
  }

  /** Sends a request and returns its answer. */
  request(id: number | string, method: string, params?: object): Promise<Line> {
    this.send({ id, method, params });
    return this.answer(id);
  }

  answer(id: number | string): Promise<Line> {
    return this.messages.find((line) => line['id'] === id && !('method' in line));
  }

  /** A request or notification of the server. */
  heard(method: string): Promise<Line> {
    return this.messages.find((line) => line['method'] === method);
  }

  async initialize(capabilities: object = {}): Promise<Line> {
    const answer = await this.request('init', 'initialize', {
      protocolVersion: '2025-11-25',
      capabilities,
      clientInfo: { name: 'raw', version: '1' },
    });
    this.send({ method: 'notifications/initialized' });
    return answer;
  }

  #readLog(line: string): void {
    try {
      this.log.push(JSON.parse(line) as Line);
    } catch (error) {
      // Not thrown here, because that would keep the process from being reported as closed.
      this.violations.push(`${line}: ${String(error)}`);
    }
  }

  #readMessage(line: string): void {
    try {
      const message = JSON.parse(line) as Line;
      const id = isResponseFrame(message) ? message.id : undefined;
      const requests = [...(this.#asked.requestsOf(id) ?? [])];
      if ('result' in message) this.#asked.answered(id);
      const faults = requests.map((request) => officialSchemas(message, ...request));
      if (requests.length === 0) faults.push(officialSchemas(message, undefined));
      if (!faults.includes(undefined)) this.violations.push(`${line}: ${faults[0]}`);
      this.messages.push(message);
      const answer = this.answers.get(String(message['method']));
      if (answer && 'id' in message) this.send({ id: message['id'], result: answer(message) });
    } catch (error) {
      this.violations.push(`${line}: ${String(error)}`);
    }
  }
}
