/** Several processes that share a store of tasks in memory, and a clock that a test moves. */
import { createMcpServer, defineTool } from 'mcp-actors';
import type { JsonObject, Limits, ListenOptions, Task, TaskStore } from 'mcp-actors';
import type { TaskSupport } from '../../../src/protocol/tasks.ts';
import {
  TestClock,
  scriptedConversation,
  enveloped,
  gate,
  initialize,
  initialized,
  toolCall,
  flush,
} from 'mcp-actors/testing';
import { onTestFinished } from 'vitest';
import { callKey, resentKey } from '../../../src/protocol/durable-calls.ts';
import { digestOf } from '../../../src/rounds/request-state.ts';
// Servers load it with their first task, which takes turns of the loop that a test would count.
import '../../../src/server/features/tasks.ts';
import { SessionlessTasks } from '../../../src/server/task-resumer.actor.ts';
import { TaskWorker } from '../src/task-worker.ts';
import { MemoryTaskStore, TaskTable } from './memory-task-store.ts';

type Tools = NonNullable<Parameters<typeof createMcpServer>[0]['tools']>;

const extension = { extensions: { 'io.modelcontextprotocol/tasks': {} } };
export const capabilities = { elicitation: { form: {} }, ...extension };
export const required: TaskSupport = 'required';

/** What several processes share: a store and the time. */
export class World {
  readonly table = new TaskTable();
  readonly clock = new TestClock();

  /** Lets time pass, and everything that is due then happen. */
  async pass(ms: number): Promise<void> {
    await settled();
    this.table.now += ms;
    this.clock.increment(ms);
    await settled();
  }

  /** A process, with a client of 2026-07-28. */
  async start(
    tools: Tools,
    limits: Partial<Limits> = {},
    store = new MemoryTaskStore(this.table),
    seal: (store: TaskStore) => TaskStore = (plain) => plain,
    session: Partial<ListenOptions> = {},
  ) {
    const { clock } = this;
    const server = createMcpServer({ name: 'shop', version: '1.0.0', tools });
    const facts: string[] = [];
    const said: string[] = [];
    const report = ({ name, message }: { readonly name: string; readonly message: string }) => {
      facts.push(name);
      said.push(message);
    };
    const worker = new TaskWorker({
      ...{ store: seal(store), server: 'shop', clock, report },
      limits: { maxRestarts: 5, maxTasks: 64, ...limits },
      resumer: (by) => new SessionlessTasks(server, by, { clock, report, limits }),
    });
    await worker.start();
    const days = 48 * 3_600_000;
    const ttl = { taskTtlMs: days, maxTaskTtlMs: days };
    const {
      peer,
      session: served,
      facts: told,
    } = scriptedConversation(server, {
      durable: worker,
      clock,
      limits: { ...ttl, ...limits },
      ...session,
    });
    let id = 0;
    const ask = async (method: string, params: JsonObject): Promise<JsonObject> => {
      peer.send(enveloped(++id, method, params, { capabilities }));
      return (await peer.response(id)).result as JsonObject;
    };
    const end = async () => {
      if (served.actor.getSnapshot().status !== 'active') return;
      served.shutdown('the test is over', 0);
      clock.increment(1);
      await served.closed;
    };
    onTestFinished(end);
    const begin = async (name: string, args: JsonObject = {}) =>
      (await ask('tools/call', { name, arguments: args })) as unknown as Task;
    /** Looks until the task has this status: what is written and digested takes its turns. */
    const sees = async (task: Pick<Task, 'taskId'>, status: Task['status']) => {
      for (;;) {
        const seen = await look(task);
        if (seen['status'] === status) return seen;
        await flush();
      }
    };
    const look = ({ taskId }: Pick<Task, 'taskId'>) => ask('tasks/get', { taskId });
    return { store, worker, facts, told, said, ask, begin, look, sees, end, peer, session: served };
  }

  /** A supervised process, with a client that has said "initialize". */
  async supervise(
    tools: Tools,
    { limits, capabilities: declared = {}, isSupervised = true }: SupervisedOptions = {},
  ) {
    const process = await this.start(tools, limits, undefined, undefined, {
      supervised: isSupervised,
    });
    const { peer } = process;
    peer.send(initialize('hello', { capabilities: declared }), initialized);
    await peer.response('hello');
    /** Sends a call as the supervisor does. */
    const call = (callId: string, name: string, more: SupervisedCallOptions = {}) => {
      const { isResent, id = callId, args = {}, meta = {} } = more;
      const marks = { [callKey]: callId, ...(isResent ? { [resentKey]: true } : {}) };
      peer.send(toolCall(id, name, args, { ...meta, ...marks }));
      return peer.response(id);
    };
    return { ...process, call };
  }

  /** The process is gone: nothing that it still says is heard, and its lease ends. */
  async kill({ store }: { readonly store: MemoryTaskStore }): Promise<void> {
    store.fault = () => new Promise(() => {});
    this.table.now += store.leaseMs;
    await settled();
  }
}

interface SupervisedOptions {
  readonly limits?: Partial<Limits>;
  readonly capabilities?: JsonObject;
  readonly isSupervised?: boolean;
}

interface SupervisedCallOptions {
  readonly isResent?: boolean;
  readonly id?: string | number;
  readonly args?: JsonObject;
  readonly meta?: JsonObject;
}

/** Everything that is due without time passing has happened; a digest takes the time of one here, however slow the machine is. */
export async function settled(): Promise<void> {
  for (let at = 0; at < 25; at++) {
    await digestOf(null);
    await flush();
  }
}

export const textOf = (task: JsonObject) =>
  ((task['result'] as JsonObject | undefined)?.['content'] as JsonObject[] | undefined)?.[0]?.[
    'text'
  ];

/** A tool that charges once, then waits at a gate. */
export function charging() {
  const charges: string[] = [];
  const door = gate();
  const tool = defineTool({
    name: 'charge',
    description: 'Charges',
    taskSupport: required,
    durable: true,
    handler: async (_, context) => {
      const id = await context.once('charge', () => {
        charges.push('charged');
        return `charge ${charges.length}`;
      });
      await door.pass();
      return id;
    },
  });
  return { charges, door, tool };
}
