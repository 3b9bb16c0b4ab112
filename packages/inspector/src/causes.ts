/** Which message moved a machine. The machines take facts, not messages, so this is inferred. */
import { BoundedMap } from 'mcp-actors/internal';

/** By the machine's event: the method of the peer's message behind it. */
const messages: { readonly [machineAndEvent: string]: string } = {
  'session initialize.received': 'initialize',
  'session initialized.received': 'notifications/initialized',
  'session roots.changed': 'notifications/roots/list_changed',
  'roots roots.ask': 'notifications/initialized',
  'roots roots.invalidate': 'notifications/roots/list_changed',
  'tools list list.invalidate': 'notifications/tools/list_changed',
  'prompts list list.invalidate': 'notifications/prompts/list_changed',
  'resources list list.invalidate': 'notifications/resources/list_changed',
  'resourceTemplates list list.invalidate': 'notifications/resources/list_changed',
  'lists listening subscription.acknowledged': 'notifications/subscriptions/acknowledged',
  'resources listening subscription.acknowledged': 'notifications/subscriptions/acknowledged',
};

/**
 * By the event of the machine that asked: the method of the request that was answered. Behind an
 * error there may also be no answer at all.
 */
const answers: { readonly [machineAndEvent: string]: string } = {
  'roots xstate.done.actor.ask': 'roots/list',
  'roots xstate.error.actor.ask': 'roots/list',
  'keepalive xstate.done.actor.probe': 'ping',
  'keepalive xstate.error.actor.probe': 'ping',
  'connection era.found': 'server/discover',
  'connection era.refused': 'server/discover',
  'connection greeting.accepted': 'initialize',
  'connection greeting.refused': 'initialize',
  ...answersOf('tools list', 'tools/list'),
  ...answersOf('prompts list', 'prompts/list'),
  ...answersOf('resources list', 'resources/list'),
  ...answersOf('resourceTemplates list', 'resources/templates/list'),
};

/** A list asks by an actor of its own. */
function answersOf(list: string, method: string): { readonly [machineAndEvent: string]: string } {
  return {
    [`${list} xstate.done.actor.ask`]: method,
    [`${list} xstate.error.actor.ask`]: method,
  };
}

/** By the event of a machine that follows from a move: the machine that moved. */
const followers: { readonly [machineAndEvent: string]: string } = {
  'session roots.updated': 'roots',
  'roots roots.ask': 'roots',
};

const leading = new Set(Object.values(followers));
const moving = new Set(Object.values(messages));
const asking = new Set(Object.values(answers));

/** By the event of a task's machine: the method of the request that moved the task. */
const ofTasks: { readonly [event: string]: string } = { 'task.cancel': 'tasks/cancel' };

const movingTasks = new Set(Object.values(ofTasks));

/**
 * How many of the last such requests are remembered. The peer chooses the ids; a task moves at
 * once.
 */
const maxTasks = 100;

/** Remembers what may be a cause. Messages go by number; undefined stands for one not kept. */
export class Causes {
  readonly #messages = new Map<string, number | undefined>();
  /** The answer to the last request of each method. */
  readonly #answers = new Map<string, number | undefined>();
  readonly #moves = new Map<string, number | undefined>();
  /** By method and task. */
  readonly #tasks = new BoundedMap<string, number | undefined>(maxTasks);

  /** @param task the id of the task that the message names */
  received(method: string, seq: number | undefined, task?: string): void {
    // The peer may send any other methods, any number of them.
    if (moving.has(method)) this.#messages.set(method, seq);
    if (task !== undefined && movingTasks.has(method)) this.#tasks.set(`${method} ${task}`, seq);
  }

  /** We ask: an earlier answer does not cause what follows. */
  asked(method: string): void {
    this.#answers.delete(method);
  }

  answered(method: string, seq: number | undefined): void {
    if (asking.has(method)) this.#answers.set(method, seq);
  }

  /**
   * The message that caused a machine's move; undefined if no message did, but a timer for example.
   * @param task the id of the task whose machine it is
   */
  of(machine: string, eventType: string, task?: string): number | undefined {
    if (task !== undefined) return this.#tasks.get(`${ofTasks[eventType]} ${task}`);
    const key = `${machine} ${eventType}`;
    const cause = this.#find(key);
    // A connection may have any number of streams.
    if (leading.has(machine)) this.#moves.set(machine, cause);
    return cause;
  }

  clear(): void {
    this.#messages.clear();
    this.#answers.clear();
    this.#moves.clear();
    this.#tasks.clear();
  }

  #find(key: string): number | undefined {
    const { [key]: leader } = followers;
    if (leader !== undefined && this.#moves.has(leader)) return this.#moves.get(leader);
    const { [key]: message } = messages;
    if (message !== undefined) return this.#messages.get(message);
    const { [key]: answer } = answers;
    return answer === undefined ? undefined : this.#answers.get(answer);
  }
}
