/**
 * A storm of tasks: nodes that share a store, each with a client, are killed, stopped for longer
 * than their lease, and cut off from the store, with clocks minutes apart. The seed determines
 * actions and faults; the timing is the machine's.
 *
 * No fixed waits: a fault lasts until another node has claimed the task of the faulty node.
 */
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import type { JsonObject } from 'mcp-actors';
import { enveloped } from 'mcp-actors/testing';
import { launch } from '../../../test/e2e/server-process.ts';
import type { Line, ServerProcess } from '../../../test/e2e/server-process.ts';
import { program } from '../../../test/tooling/programs.ts';
import { Chance } from '../../../test/tooling/chance.ts';
import type { StoreProxy } from '../../../test/tooling/store-proxy.ts';
import { TaskHistory, isFinal } from './task-history.ts';
import type { TaskLine, ToldBy } from './task-history.ts';

const faults = ['kill', 'stop', 'cut'] as const;
type Fault = (typeof faults)[number];

/** Store shared by the nodes. */
export interface StormStore {
  /** Clock offset of each node, ms. */
  readonly clocksMs: readonly number[];
  /** Possible faults of its nodes. */
  readonly faults: readonly Fault[];
  /** A node's connection to the store, with a proxy if it can be cut. */
  wayOf(): Promise<{ readonly url: string; readonly proxy?: StoreProxy }>;
  /** Number of each effect, if effects are written in its transactions. */
  effects?(): Promise<readonly { readonly what: string; readonly times: number }[]>;
}

const capabilities = {
  elicitation: { form: {} },
  extensions: { 'io.modelcontextprotocol/tasks': {} },
};

/**
 * Lease of each node. Without faults no lease expires unless the machine is slower; then a task
 * changes hands once more.
 */
const leaseMs = 3000;

/** Time limit of a storm, ms of the machine. */
const overMs = 240_000;

const steps = ['once', 'sleep', 'nap', 'ask'] as const;

/** Steps of the task owned by a faulty node. */
const heldPlan: readonly string[] = ['held', 'nap', 'once'];

/** Slot of a node, occupied by one process after another. */
class TaskNode {
  readonly name: string;
  readonly #env: { readonly [name: string]: string };
  readonly proxy: StoreProxy | undefined;
  #process: ServerProcess | undefined;
  readonly #ended: ToldBy[] = [];
  #id = 0;
  state: 'up' | 'stopped' | 'down' = 'down';

  constructor(name: string, env: { readonly [name: string]: string }, proxy?: StoreProxy) {
    this.name = name;
    this.#env = env;
    this.proxy = proxy;
  }

  launch(): void {
    this.#process = launch(program('lab/storms/tasks/task-node.ts'), { env: this.#env });
    this.state = 'up';
  }

  async kill(): Promise<void> {
    this.state = 'down';
    const { child } = this.process;
    const exit = once(child, 'exit');
    child.kill('SIGKILL');
    await exit;
    await this.process.exit;
    this.#ended.push({ ...this.#told(), lives: false });
  }

  /**
   * The process stops itself outside of writes, which would block others that share the directory.
   */
  stop(): void {
    this.state = 'stopped';
    this.process.child.kill('SIGUSR2');
  }

  wake(): void {
    this.process.child.kill('SIGCONT');
    this.state = 'up';
  }

  get process(): ServerProcess {
    if (!this.#process) throw new Error(`${this.name} was not launched`);
    return this.#process;
  }

  #told(): ToldBy {
    const { log, child } = this.process;
    const lines = log.all.flatMap(({ storm }) => (storm === undefined ? [] : [storm as TaskLine]));
    return { node: `${this.name} (${child.pid})`, lines, lives: true };
  }

  /** Reports of its processes. */
  get told(): readonly ToldBy[] {
    return this.state === 'down' ? this.#ended : [...this.#ended, this.#told()];
  }

  /** The response; undefined if the process ended first. */
  async ask(method: string, params: JsonObject): Promise<Line | undefined> {
    const { process } = this;
    const id = ++this.#id;
    process.send(enveloped(id, method, params, { capabilities }));
    const ended = process.exit.then(() => undefined);
    return Promise.race([process.answer(id).catch(() => ended), ended]);
  }

  /** Settles once this process has written a step of a task. */
  written(taskId: string, key: string): Promise<unknown> {
    return this.#said(taskId, ({ keys, became }) => became === 'written' && !!keys?.includes(key));
  }

  /** Settles once this process owns a task. */
  granted(taskId: string): Promise<unknown> {
    return this.#said(taskId, ({ op }) => op === 'grant');
  }

  #said(taskId: string, isIt: (line: TaskLine) => boolean): Promise<unknown> {
    return this.process.log.find(({ storm }) => {
      const line = storm as TaskLine | undefined;
      return line?.taskId === taskId && isIt(line);
    });
  }
}

class TaskStorm {
  readonly #history = new TaskHistory();
  readonly #chance: Chance;
  readonly #nodes: readonly TaskNode[];
  #phase: 'blowing' | 'over' = 'blowing';
  readonly #lives: Promise<void>[] = [];
  #begun = 0;
  /** Tasks that no fault depends on. */
  readonly #cancellable = new Set<string>();

  constructor(nodes: readonly TaskNode[], chance: Chance) {
    this.#nodes = nodes;
    this.#chance = chance;
  }

  /** Begins a task at a node. Undefined if the client has no task id. */
  async #begin(node: TaskNode, plan: readonly string[]): Promise<string | undefined> {
    const answer = await node.ask('tools/call', { name: 'work', arguments: { plan } });
    const { taskId } = (answer?.['result'] ?? {}) as { readonly taskId?: string };
    if (taskId === undefined) return undefined;
    this.#history.write(`${node.name} has begun ${taskId}: ${plan.join()}`);
    this.#history.accepted.add(taskId);
    if (plan !== heldPlan) this.#cancellable.add(taskId);
    return taskId;
  }

  /** Observes a task. Undefined without a conclusive response. */
  async #look(node: TaskNode, taskId: string): Promise<string | undefined> {
    const seen = this.#history.look(node.name, taskId);
    const answer = await node.ask('tasks/get', { taskId });
    if (!answer) return undefined;
    const { result, error } = answer as {
      readonly result?: { readonly status: string; readonly result?: unknown };
      readonly error?: { readonly data?: { readonly retryable?: boolean } };
    };
    // The node's store is unreachable.
    if (error?.data?.retryable === true) return undefined;
    if (!result) {
      this.#history.write(`${node.name} refuses: ${JSON.stringify(error)}`);
      seen(undefined);
      return undefined;
    }
    const { status } = result;
    const text = isFinal(status) ? JSON.stringify(result.result ?? '') : '';
    seen({ status, result: text });
    if (status === 'input_required') await this.#answer(node, taskId, result);
    return status;
  }

  async #answer(node: TaskNode, taskId: string, task: object): Promise<void> {
    const { inputRequests = {} } = task as { readonly inputRequests?: object };
    const answer = { action: 'accept', content: { say: `by ${node.name}` } };
    const keys = Object.keys(inputRequests);
    const inputResponses: JsonObject = Object.fromEntries(keys.map((key) => [key, answer]));
    await node.ask('tasks/update', { taskId, inputResponses });
  }

  /** Actions of a node's client while its process lives. */
  async #live(node: TaskNode, chance: Chance): Promise<void> {
    const { process } = node;
    while (this.#phase === 'blowing' && node.process === process && node.state !== 'down') {
      const open = [...this.#history.accepted].filter((id) => !this.#history.ended.has(id));
      const [known] = chance.shuffled([...this.#history.accepted]);
      if (open.length < 8 && chance.happens(0.5)) {
        const plan = Array.from({ length: chance.between(1, 4) }, () => chance.pick(steps));
        this.#begun++;
        await this.#begin(node, plan);
      } else if (chance.happens(0.05)) {
        const [taskId] = chance.shuffled(open.filter((id) => this.#cancellable.has(id)));
        if (taskId !== undefined) await node.ask('tasks/cancel', { taskId });
      } else if (known !== undefined) {
        await this.#look(node, known);
      }
      await delay(20);
    }
  }

  /** Observes a task from these nodes in turn until it has ended. */
  async #untilEnded(taskId: string, nodes: readonly TaskNode[]): Promise<void> {
    for (;;) {
      for (const node of nodes) {
        if (isFinal((await this.#look(node, taskId)) ?? '')) return;
      }
      await delay(20);
    }
  }

  /** Settles once another node owns a task. */
  #taken(taskId: string, node: TaskNode): Promise<unknown> {
    return Promise.any(this.#nodes.flatMap((each) => (each === node ? [] : each.granted(taskId))));
  }

  /** Begins a task that a node holds. */
  async #held(node: TaskNode): Promise<string> {
    for (;;) {
      const taskId = await this.#begin(node, heldPlan);
      // Its store may still be unreachable.
      if (taskId === undefined) await delay(20);
      else {
        // On a slow machine its lease may expire before it has written anything.
        const lost = this.#taken(taskId, node).then(() => 'lost');
        if ((await Promise.race([node.written(taskId, 'once:held 0'), lost])) !== 'lost') {
          return taskId;
        }
        // The current owner would hold it for nothing.
        this.#cancellable.add(taskId);
        await node.ask('tasks/cancel', { taskId });
      }
    }
  }

  async #blow(fault: Fault): Promise<void> {
    const [node] = this.#chance.shuffled(this.#nodes) as [TaskNode, ...TaskNode[]];
    const taskId = await this.#held(node);
    this.#history.write(`FAULT ${fault} of ${node.name}`);
    if (fault === 'kill') await node.kill();
    else if (fault === 'stop') node.stop();
    else node.proxy?.cut();
    await this.#taken(taskId, node);
    if (fault === 'kill') {
      node.launch();
      this.#lives.push(this.#live(node, this.#chance.fork()));
    } else if (fault === 'stop') node.wake();
    else node.proxy?.heal();
    this.#history.write(`over: ${fault} of ${node.name}`);
    await this.#untilEnded(taskId, [node]);
  }

  /** @returns the history */
  async run(chosen: readonly Fault[], store: StormStore): Promise<TaskHistory> {
    const history = this.#history;
    const over = new AbortController();
    const late = this.#late(over.signal).catch(() => 'over');
    if ((await Promise.race([this.#whole(chosen, store), late])) === 'late') {
      const open = [...history.accepted].filter((id) => !history.ended.has(id));
      history.accuse(`it has no end: ${open.join(', ') || 'all tasks have ended'}`);
      this.#phase = 'over';
      await this.#judge(store);
    }
    over.abort();
    return history;
  }

  async #late(signal: AbortSignal): Promise<'late'> {
    while (this.#history.now < overMs) await delay(500, undefined, { signal });
    return 'late';
  }

  async #whole(chosen: readonly Fault[], store: StormStore): Promise<void> {
    const history = this.#history;
    for (const node of this.#nodes) node.launch();
    this.#lives.push(...this.#nodes.map((node) => this.#live(node, this.#chance.fork())));
    for (const fault of chosen) await this.#blow(fault);
    this.#phase = 'over';
    await Promise.all(this.#lives);
    for (const taskId of history.accepted) {
      for (const node of this.#nodes) await this.#untilEnded(taskId, [node]);
    }
    await this.#judge(store);
  }

  async #judge(store: StormStore): Promise<void> {
    const history = this.#history;
    history.judge(this.#nodes.flatMap((node) => node.told));
    for (const { what, times } of (await store.effects?.()) ?? []) {
      if (times > 1) history.accuse(`${what} was made ${times} times`);
    }
    if (this.#begun === 0) history.accuse('nothing was begun beside the faults');
    for (const { name, process } of this.#nodes) history.quote(name, process.stderr);
  }
}

/**
 * @param most maximum number of faults
 * @returns the history with its violations
 */
export async function taskStorm(
  seed: number,
  store: StormStore,
  most: number,
): Promise<TaskHistory> {
  const chance = new Chance(seed);
  const nodes: TaskNode[] = [];
  for (const [at, clockMs] of store.clocksMs.entries()) {
    const { url, proxy } = await store.wayOf();
    const env = { STORE: url, LEASE_MS: String(leaseMs), CLOCK_OFFSET_MS: String(clockMs) };
    nodes.push(new TaskNode('abc'[at] ?? '', env, proxy));
  }
  const chosen = chance.shuffled(store.faults).slice(0, most);
  return new TaskStorm(nodes, chance.fork()).run(chosen, store);
}
