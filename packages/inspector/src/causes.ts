/** Infers which message caused a machine's transition: machines receive events, not messages. */
import { BoundedMap } from 'mcp-actors/internal';

/** Method of the peer's message behind each machine event. */
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
 * Method of our request behind each event that reports its outcome. An error event may also mean
 * that no response arrived.
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

/** A list queries the server through its own `ask` actor. */
function answersOf(list: string, method: string): { readonly [machineAndEvent: string]: string } {
  return {
    [`${list} xstate.done.actor.ask`]: method,
    [`${list} xstate.error.actor.ask`]: method,
  };
}

/** Machine whose transition raised each event. */
const followers: { readonly [machineAndEvent: string]: string } = {
  'session roots.updated': 'roots',
  'roots roots.ask': 'roots',
};

const leading = new Set(Object.values(followers));
const moving = new Set(Object.values(messages));
const asking = new Set(Object.values(answers));

/** Method of the request behind each event of a task's machine. */
const taskMethods: { readonly [event: string]: string } = { 'task.cancel': 'tasks/cancel' };

const movingTasks = new Set(Object.values(taskMethods));

/**
 * Bound on remembered requests, whose task ids the peer chooses. The oldest can be dropped because
 * a task moves at once.
 */
const maxTasks = 100;

/** Tracks candidate causes as event numbers; undefined for a message that was only counted. */
export class Causes {
  readonly #messages = new Map<string, number | undefined>();
  /** Response to the latest request of each method. */
  readonly #answers = new Map<string, number | undefined>();
  readonly #moves = new Map<string, number | undefined>();
  /** Keyed by method and task id. */
  readonly #tasks = new BoundedMap<string, number | undefined>(maxTasks);

  /** @param task id of the task named in the message */
  received(method: string, seq: number | undefined, task?: string): void {
    // Ignore other methods: the peer can make up any number of them.
    if (moving.has(method)) this.#messages.set(method, seq);
    if (task !== undefined && movingTasks.has(method)) this.#tasks.set(`${method} ${task}`, seq);
  }

  /** Records a new request, so that an earlier response is not taken for the cause. */
  requestSent(method: string): void {
    this.#answers.delete(method);
  }

  responseReceived(method: string, seq: number | undefined): void {
    if (asking.has(method)) this.#answers.set(method, seq);
  }

  /**
   * Returns the number of the message that caused a transition, or undefined for other causes such
   * as a timer.
   * @param task id of the task that owns the machine
   */
  find(machine: string, eventType: string, task?: string): number | undefined {
    if (task !== undefined) return this.#tasks.get(`${taskMethods[eventType]} ${task}`);
    const key = `${machine} ${eventType}`;
    const cause = this.#find(key);
    // A connection may have any number of streams: remember only machines listed in `followers`.
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
