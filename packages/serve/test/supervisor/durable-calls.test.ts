/** Ordinary calls of a durable tool, by official clients that know nothing of it, whose server is killed at numbered points. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CallToolResult } from '@modelcontextprotocol/client';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { afterEach, describe, expect, onTestFinished, test } from 'vitest';
import { connect as connectModern, textOf } from '../../../../test/e2e/both-eras-client.ts';
import { closeClients, connect as connectSdk } from '../../../../test/e2e/sdk-client.ts';
import { gone } from '../../../../test/e2e/server-process.ts';
import { program } from '../../../../test/tooling/programs.ts';

const server = program('test/e2e/supervised-calls-server.ts');

/** Where processes end, each in the middle of a call: before and after each write, and each line to the host. */
const points = [
  ...['create.called:1', 'create.answered:1', 'append.called:1', 'append.answered:1'],
  ...['append.called:2', 'append.answered:2', 'append.called:3', 'append.answered:3'],
  ...['append.called:5', 'append.answered:5', 'finish.called:1', 'finish.answered:1'],
  ...['stdout.called:1', 'stdout.answered:1', 'stdout.called:2', 'stdout.answered:2'],
  ...['stdout.called:3', 'stdout.answered:3', 'stdout.called:4', 'stdout.answered:4'],
];

const capabilities = { elicitation: { form: {} } };
/** Both clients handle progress later than the response that comes with it in one chunk. */
const tolerated = /progress notification for an unknown token/;
const accept = { action: 'accept' as const, content: { size: 'x' } };

/** A host's end of one test. */
interface Host {
  /** The supervisor. */
  readonly pid: number;
  /** @param onprogress gets each value */
  order(onprogress: (progress: number) => void): Promise<string>;
  list(): Promise<unknown>;
}

const hosts: {
  readonly [name: string]: (env: { readonly [name: string]: string }) => Promise<Host>;
} = {
  'the official client 1.x': async (env) => {
    const { client, pid } = await connectSdk(server, { env, capabilities, tolerated });
    client.setRequestHandler(ElicitRequestSchema, () => accept);
    const order: Host['order'] = async (onprogress) => {
      const options = { onprogress: ({ progress }: { progress: number }) => onprogress(progress) };
      const result = await client.callTool({ name: 'order' }, undefined, options);
      return textOf(result as CallToolResult);
    };
    return { pid, order, list: () => client.listTools() };
  },
  'the official client 2.x': async (env) => {
    const client = await connectModern(server, {
      ...{ env, capabilities, mode: 'legacy' },
      tolerated,
    });
    client.setRequestHandler('elicitation/create', () => accept);
    const pid = (client.transport as unknown as { readonly pid: number }).pid;
    const order: Host['order'] = async (onprogress) => {
      const options = { onprogress: ({ progress }: { progress: number }) => onprogress(progress) };
      return textOf((await client.callTool({ name: 'order' }, options)) as CallToolResult);
    };
    return { pid, order, list: () => client.listTools() };
  },
};

/** The process that serves. */
function servingProcess(supervisor: number): number {
  const lines = execFileSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' }).split('\n');
  const pairs = lines.map((line) => line.trim().split(/\s+/).map(Number));
  return pairs.find(([, parent]) => parent === supervisor)?.[0] as number;
}

afterEach(closeClients);

describe.each(Object.entries(hosts))('over stdio, %s', (_, open) => {
  test(
    'gets one result per call and increasing progress through 20 kills',
    { timeout: 600_000 },
    async () => {
      const folder = mkdtempSync(join(tmpdir(), 'supervised-'));
      onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
      const count = join(folder, 'count');
      const env = { COUNT: count, POINTS: points.join(','), STORE: join(folder, 'state') };
      const host = await open(env);
      const begun = () => readFileSync(count).length;
      const charges: string[] = [];
      const reached: string[] = [];
      for (const [at, point] of points.entries()) {
        const seen: number[] = [];
        const text = await host.order((progress) => seen.push(progress));
        const [charge = '', receipt] = text.split(': ');
        expect(receipt, point).toBe(`receipt of ${charge}, accept`);
        charges.push(charge);
        expect(seen, point).toEqual([...new Set(seen)].sort((one, other) => one - other));
        if (begun() > 2 * at + 1) reached.push(point);
        // The next call meets the process that is killed at the next point.
        while (begun() < 2 * at + 3) {
          const pid = servingProcess(host.pid);
          process.kill(pid, 'SIGKILL');
          await gone(pid);
          await host.list();
        }
      }
      expect(new Set(charges).size).toBe(points.length);
      expect(reached.length).toBeGreaterThan(points.length / 2);
    },
  );
});
