/**
 * Plays a sequence against one run of a server and writes down what happens. It waits for events, never for time to pass; times only
 * bound how long an event may take.
 */
import { Method } from '../protocol/methods.ts';
import { ClientSide } from './client-side.ts';
import type { ClientSideOptions } from './client-side.ts';
import { moveMessages } from './move-messages.ts';
import type { Move, Sequence } from './move.ts';
import { request } from './outgoing.ts';
import { Trace, idKey } from './trace.ts';
import type { Happening, Waited } from './trace.ts';
import type { Launch, ServerWire } from './wire.ts';

export interface PlayOptions extends ClientSideOptions {
  readonly launch: Launch;
  /** Tools whose results name the roots; they are called at the end of a play whose client has roots. */
  readonly tellers: readonly string[];
  /** How the server is waited for: by a ping, or, where it answers none, by a quiet time. */
  readonly fence: 'ping' | 'quiet';
  readonly times: PlayTimes;
  /** Ends the server, and so the play. */
  readonly signal: AbortSignal | undefined;
}

/** Milliseconds. */
export interface PlayTimes {
  /** How long the answer to initialize may take. */
  readonly startMs: number;
  /** How long another answer may take. */
  readonly answerMs: number;
  /** How long the server may take to end after its input has ended. */
  readonly endMs: number;
  /** How long nothing must come where no answer can be awaited. */
  readonly quietMs: number;
}

/** Past every time after which a server of ours gives up its roots. */
const longTimeMs = 6_000;

/** Plays one sequence, settles what is owed, ends the server's input, and waits for its end. */
export async function play(sequence: Sequence, options: PlayOptions): Promise<Trace> {
  const player = new Player(options);
  await player.play(sequence);
  return new Trace(player.happenings);
}

type Phase = 'playing' | 'settling' | 'input-ended' | 'ended';

class Player {
  readonly happenings: Happening[] = [];
  readonly #options: PlayOptions;
  readonly #client: ClientSide;
  readonly #wire: ServerWire;
  readonly #waiting = new Set<() => void>();
  #chunk = '';
  #phase: Phase = 'playing';
  /** Spent once the server has let a wait run out: no more time is given to it. */
  #patience: 'there' | 'spent' = 'there';

  constructor(options: PlayOptions) {
    this.#options = options;
    this.#client = new ClientSide(options, (sent) => {
      this.happenings.push(sent);
      this.#chunk += `${sent.text}\n`;
    });
    this.#wire = options.launch({
      line: (text) => this.#hear(text),
      ended: (exit) => {
        this.happenings.push({ kind: 'ended', exit });
        this.#phase = 'ended';
        this.#wake();
      },
    });
  }

  async play(sequence: Sequence): Promise<void> {
    const { signal } = this.#options;
    const kill = () => this.#wire.kill();
    signal?.addEventListener('abort', kill);
    try {
      for (const move of sequence) {
        if (this.#phase !== 'playing') break;
        await this.#perform(move);
      }
      if (this.#phase === 'playing') await this.#settle();
      await this.#end();
    } finally {
      signal?.removeEventListener('abort', kill);
      kill();
    }
  }

  async #perform(move: Move): Promise<void> {
    switch (move.type) {
      case 'wait':
        return this.#fence();
      case 'end':
        return this.#endInput();
      case 'last':
        moveMessages.list(this.#client, move);
        return this.#endInput();
      case 'pass-time':
        await this.#fence();
        await this.#wire.passTime?.(longTimeMs);
        return this.#fence();
      case 'answer':
      case 'answer-reversed':
      case 'refuse':
        // There is something to be answered, or the server is known to have asked nothing.
        this.#flush();
        if (this.#client.held.length === 0) await this.#fence();
        break;
      default:
    }
    moveMessages[move.type](this.#client, move);
  }

  /** Waits for the answer to initialize, then for the answer to a ping: what was owed for earlier things has come by then. */
  async #fence(): Promise<void> {
    this.#flush();
    const { owed } = this.#client;
    const greeting = [...owed.values()].find(({ method }) => method === Method.initialize);
    if (greeting) await this.#answered([idKey(greeting.id)], this.#options.times.startMs);
    this.#waited('fence', await this.#answersPing());
  }

  async #answersPing(): Promise<boolean> {
    const { fence, times } = this.#options;
    if (this.#phase === 'ended' || this.#patience === 'spent') return false;
    // Before initialize a server need not answer anything.
    if (!this.#client.offered) return true;
    if (fence === 'quiet') {
      await this.#until(() => false, times.quietMs);
      return (this.#phase as Phase) !== 'ended';
    }
    const id = this.#client.nextId();
    this.#client.send(request(id, Method.ping));
    const answered = await this.#answered([idKey(id)], times.answerMs);
    await this.#wire.idle?.();
    return answered;
  }

  /** Answers what the server asks, and waits until everything is answered that the server owes. */
  async #settle(): Promise<void> {
    this.#phase = 'settling';
    const client = this.#client;
    this.#flush();
    for (const held of [...client.held]) client.answer(held);
    let ok = await this.#owesNothing();
    // Of two equal calls the later one ends later: once it has ended, the cancelled one would have ended as well.
    for (const tool of ok ? client.cancelledTools : []) client.call(client.nextId(), tool);
    ok &&= await this.#owesNothing();
    ok &&= await this.#tellRoots();
    this.#waited('settled', (await this.#answersPing()) && ok);
  }

  /**
   * Asks the tools that name the roots, where those have changed or a late answer might have changed them: until they name the newest,
   * because a server may take its time to ask for them.
   */
  async #tellRoots(): Promise<boolean> {
    const { tellers, times } = this.#options;
    const client = this.#client;
    const isInQuestion = client.hasChangedRoots || client.hasAnsweredLate;
    if (!client.offered?.['roots'] || !isInQuestion || tellers.length === 0) return true;
    for (let waitedMs = 0; ; waitedMs += times.quietMs) {
      const from = this.happenings.length;
      for (const tool of tellers) client.call(client.nextId(), tool);
      if (!(await this.#owesNothing())) return false;
      const told = this.happenings.slice(from).filter((one) => one.kind === 'received');
      const isNewest = told.some((one) => client.namesNewestRoot(one));
      if (isNewest || !client.hasChangedRoots || waitedMs >= times.answerMs) return true;
      await (this.#wire.passTime?.(times.quietMs) ?? this.#until(() => false, times.quietMs));
    }
  }

  async #owesNothing(): Promise<boolean> {
    const { owed } = this.#client;
    this.#flush();
    if (!this.#wire.passTime) return this.#answered([...owed.keys()], this.#options.times.answerMs);
    // Where time can be moved, it moves until nothing waits for it any more.
    for (let rounds = 0; rounds < 20 && owed.size > 0; rounds++) await this.#wire.passTime(1_000);
    return owed.size === 0;
  }

  #endInput(): void {
    this.#flush();
    this.#phase = 'input-ended';
    this.happenings.push({ kind: 'input-ended' });
    this.#wire.end();
  }

  async #end(): Promise<void> {
    const { times } = this.#options;
    // What has said nothing yet may still be starting.
    const isUp = this.happenings.some(({ kind }) => kind === 'received');
    const endMs = isUp ? times.endMs : Math.max(times.endMs, times.startMs);
    if (this.#phase === 'playing' || this.#phase === 'settling') this.#endInput();
    await this.#wire.passTime?.(endMs);
    if (await this.#until(() => this.#phase === 'ended', endMs)) return;
    this.happenings.push({ kind: 'overdue' });
    this.#wire.kill();
    await this.#until(() => this.#phase === 'ended', endMs);
  }

  #waited(what: Waited['for'], ok: boolean): void {
    this.happenings.push({ kind: 'waited', for: what, ok });
  }

  #flush(): void {
    const chunk = this.#chunk;
    this.#chunk = '';
    if (chunk !== '' && this.#phase !== 'ended') this.#wire.send(chunk);
  }

  /** Waits for the answers to requests; true where all have come. */
  async #answered(keys: readonly string[], timeoutMs: number): Promise<boolean> {
    const { owed } = this.#client;
    const all = () => keys.every((key) => !owed.has(key));
    this.#flush();
    if (this.#patience === 'spent') return all();
    const came = await this.#until(all, timeoutMs);
    if (!came && this.#phase !== 'ended') this.#patience = 'spent';
    return came;
  }

  /** Resolves once the condition holds, the server has ended, or the time is up; true where the condition holds. */
  #until(condition: () => boolean, timeoutMs: number): Promise<boolean> {
    if (condition() || this.#phase === 'ended') return Promise.resolve(condition());
    return new Promise((resolve) => {
      const finish = () => {
        clearTimeout(timer);
        this.#waiting.delete(look);
        resolve(condition());
      };
      const look = () => {
        if (condition() || this.#phase === 'ended') finish();
      };
      const timer = setTimeout(finish, timeoutMs);
      this.#waiting.add(look);
    });
  }

  #wake(): void {
    for (const look of this.#waiting) look();
  }

  #hear(text: string): void {
    // A line of nothing carries nothing.
    if (text.trim() === '') return;
    const client = this.#client;
    const value = parsed(text);
    this.happenings.push({ kind: 'received', text, value });
    client.take(value);
    if (this.#phase === 'settling') {
      for (const held of [...client.held]) client.answer(held);
    }
    // A ping of the server's is answered at once.
    if (this.#phase !== 'input-ended') this.#flush();
    this.#wake();
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
