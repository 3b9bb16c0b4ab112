/**
 * Nodes of two versions run side by side during a rolling deployment, with waiting tasks. The test
 * decides who claims first.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { JsonObject } from 'mcp-actors';
import { enveloped } from 'mcp-actors/testing';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { RedisServer, needsRedis } from '../../packages/nodes/test/redis-server.ts';
import { program } from '../tooling/programs.ts';
import { launch, reapServers } from './server-process.ts';
import type { Line, ServerProcess } from './server-process.ts';

const capabilities = {
  elicitation: { form: {} },
  extensions: { 'io.modelcontextprotocol/tasks': {} },
};

afterEach(reapServers);

class Node {
  readonly #process: ServerProcess;
  #id = 0;

  constructor(version: 1 | 2 | 3, store: string) {
    const env = { STORE: store, VERSION: String(version) };
    this.#process = launch(program('test/e2e/versioned-node.ts'), { env });
  }

  async ask(method: string, params: JsonObject): Promise<Line> {
    const id = ++this.#id;
    this.#process.send(enveloped(id, method, params, { capabilities }));
    const { result, error } = await this.#process.answer(id);
    expect(error).toBeUndefined();
    return result as Line;
  }

  /** Starts a task, and waits until it requires input. */
  async begin(): Promise<string> {
    const { taskId } = await this.ask('tools/call', { name: 'confirm' });
    await this.sees(taskId as string, 'input_required');
    return taskId as string;
  }

  async sees(taskId: string, status: string): Promise<Line> {
    const look = async () => {
      const task = await this.ask('tasks/get', { taskId });
      expect(task).toMatchObject({ status });
      return task;
    };
    return vi.waitFor(look, { timeout: 100_000, interval: 20 });
  }

  /** Answers a task's request, so that it can be claimed. */
  async answer(taskId: string): Promise<void> {
    const { inputRequests } = await this.sees(taskId, 'input_required');
    const answers = Object.keys(inputRequests as object).map((key) => [key, { action: 'decline' }]);
    await this.ask('tasks/update', { taskId, inputResponses: Object.fromEntries(answers) });
  }

  /** Result of a task. */
  async textOf(taskId: string): Promise<unknown> {
    const { result } = await this.sees(taskId, 'completed');
    return (result as { readonly content: readonly Line[] }).content[0]?.['text'];
  }

  /** Reason for not resuming a task. */
  async refuses(taskId: string): Promise<string> {
    const { message } = await this.#process.log.find(
      (line) => line['event'] === 'task.refused' && String(line['message']).includes(taskId),
    );
    return message as string;
  }

  /** Redeploys the node, which releases its tasks. */
  async retire(): Promise<void> {
    this.#process.child.kill('SIGTERM');
    await this.#process.exit;
  }
}

describe.each([
  [
    'a directory',
    async () => {
      const state = await mkdtemp(join(tmpdir(), 'mcp-deploy-'));
      onTestFinished(() => rm(state, { recursive: true }));
      return state;
    },
  ],
  [
    'Redis',
    async () => {
      const server = await RedisServer.start();
      onTestFinished(() => server.stop());
      return server.url;
    },
  ],
] as const)('a deployment with tasks in %s', (name, open) => {
  beforeEach((context) => {
    if (name === 'Redis') needsRedis(context);
  });

  test('leaves a task to the version that has its state, and lets clients find it on both', async () => {
    const store = await open();
    const first = new Node(1, store);
    const old = await first.begin();
    const newer = new Node(2, store);
    const recent = await newer.begin();
    await first.retire();
    // No other node is running.
    await newer.answer(old);
    expect(await newer.refuses(old)).toContain(
      'the machine "confirming" no longer has its state "asking"',
    );
    const older = new Node(1, store);
    for (const node of [newer, older]) expect(await node.textOf(old)).toBe('confirmed by 1');
    // Rolls back the deployment: tasks of the newer version wait for it.
    await newer.retire();
    await older.answer(recent);
    expect(await older.refuses(recent)).toContain('its state "checking"');
    const migrating = new Node(3, store);
    for (const node of [older, migrating]) {
      expect(await node.textOf(recent)).toBe('confirmed by 3');
    }
    const left = await older.begin();
    await older.retire();
    await migrating.answer(left);
    expect(await migrating.textOf(left)).toBe('confirmed by 3');
  });
});
