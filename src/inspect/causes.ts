/** Which message moved a machine: the machines are told of facts, not of messages. */

/** By the machine's event: what the message is called that the client sent. */
const messages: { readonly [machineAndEvent: string]: string } = {
  'session initialize.received': 'initialize',
  'session initialized.received': 'notifications/initialized',
  'session roots.changed': 'notifications/roots/list_changed',
  'roots roots.start': 'notifications/initialized',
  'roots roots.invalidate': 'notifications/roots/list_changed',
  'keepalive keepalive.start': 'notifications/initialized',
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

/** Remembers what may be a cause. Messages are numbered; undefined is one that was not kept. */
export class Causes {
  readonly #messages = new Map<string, number | undefined>();
  /** Answers to requests that are still the last of their method. */
  readonly #answers = new Map<string, number | undefined>();
  readonly #moves = new Map<string, number | undefined>();

  received(method: string, seq: number | undefined): void {
    // The other methods are the peer's to choose, and without number.
    if (moving.has(method)) this.#messages.set(method, seq);
  }

  /** We ask: whatever was answered before is no cause of what follows. */
  asked(method: string): void {
    this.#answers.delete(method);
  }

  answered(method: string, seq: number | undefined): void {
    if (asking.has(method)) this.#answers.set(method, seq);
  }

  /** The message that a machine's move is due to; undefined where it is none, such as a timer. */
  of(machine: string, eventType: string): number | undefined {
    const key = `${machine} ${eventType}`;
    const cause = this.#find(key);
    this.#moves.set(machine, cause);
    return cause;
  }

  clear(): void {
    this.#messages.clear();
    this.#answers.clear();
    this.#moves.clear();
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
