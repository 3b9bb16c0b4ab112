/** Which message moved a machine: the machines are told of facts, not of messages. */

/** By the machine's event: what the message is called that the client sent. */
const messages: { readonly [machineAndEvent: string]: string } = {
  'session initialize.received': 'initialize',
  'session initialized.received': 'notifications/initialized',
  'session roots.changed': 'notifications/roots/list_changed',
  'roots roots.start': 'notifications/initialized',
  'roots roots.invalidate': 'notifications/roots/list_changed',
};

/** Answers, by the event of the machine that asked. An error may also be that none came. */
const answers: { readonly [machineAndEvent: string]: string } = {
  'roots xstate.done.actor.ask': 'roots/list',
  'roots xstate.error.actor.ask': 'roots/list',
  'keepalive xstate.done.actor.probe': 'ping',
  'keepalive xstate.error.actor.probe': 'ping',
};

/** The machine that moved first, where one tells another. */
const followers: { readonly [machineAndEvent: string]: string } = {
  'session roots.updated': 'roots',
};

const moving = new Set(Object.values(messages));
const asking = new Set(Object.values(answers));

/** Requests that name a task and move it, by the event of its machine. */
const ofTasks: { readonly [event: string]: string } = { 'task.cancel': 'tasks/cancel' };

const movingTasks = new Set(Object.values(ofTasks));

/** Tasks are named by the peer: so many of the last are remembered, and a task is moved at once. */
const maxTasks = 100;

/** Remembers what may be a cause. Messages are numbered; undefined is one that was not kept. */
export class Causes {
  readonly #messages = new Map<string, number | undefined>();
  /** Answers to requests that are still the last of their method. */
  readonly #answers = new Map<string, number | undefined>();
  readonly #moves = new Map<string, number | undefined>();
  /** By method and task, oldest first. */
  readonly #tasks = new Map<string, number | undefined>();

  /** @param task the id of the task that the message names */
  received(method: string, seq: number | undefined, task?: string): void {
    // The other methods are the peer's to choose, and without number.
    if (moving.has(method)) this.#messages.set(method, seq);
    if (task === undefined || !movingTasks.has(method)) return;
    this.#tasks.set(`${method} ${task}`, seq);
    if (this.#tasks.size <= maxTasks) return;
    for (const oldest of this.#tasks.keys()) {
      this.#tasks.delete(oldest);
      break;
    }
  }

  /** We ask: whatever was answered before is no cause of what follows. */
  asked(method: string): void {
    this.#answers.delete(method);
  }

  answered(method: string, seq: number | undefined): void {
    if (asking.has(method)) this.#answers.set(method, seq);
  }

  /**
   * The message that a machine's move is due to; undefined where it is none, such as a timer.
   * @param task the id of the task whose machine it is
   */
  of(machine: string, eventType: string, task?: string): number | undefined {
    if (task !== undefined) return this.#tasks.get(`${ofTasks[eventType]} ${task}`);
    const key = `${machine} ${eventType}`;
    const cause = this.#find(key);
    this.#moves.set(machine, cause);
    return cause;
  }

  clear(): void {
    this.#messages.clear();
    this.#answers.clear();
    this.#moves.clear();
    this.#tasks.clear();
  }

  #find(key: string): number | undefined {
    const { [key]: message } = messages;
    if (message !== undefined) return this.#messages.get(message);
    const { [key]: answer } = answers;
    if (answer !== undefined) return this.#answers.get(answer);
    const { [key]: leader } = followers;
    return leader === undefined ? undefined : this.#moves.get(leader);
  }
}
