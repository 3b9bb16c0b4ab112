/**
 * Plays a sequence against one run of a server and records a trace. Waits for events, never for
 * fixed times; time limits only bound the waits.
 */
import { Method } from 'mcp-actors/internal';
import { ClientSide } from './client-side.ts';
import type { ClientSideOptions } from './client-side.ts';
import { requestIdsIn } from './http/exchange.ts';
import { moveMessages } from './move-messages.ts';
import { isImpolite } from './move.ts';
import type { Move, MoveSequence } from './move.ts';
import { idKey, parsed } from './message.ts';
import { playChart } from './play.machine.ts';
import type { PlayEvent } from './play.machine.ts';
import { Trace } from './trace.ts';
import type { Happening, Waited } from './trace.ts';
import type { ObservedExchange } from './http/exchange.ts';
import type { Launch, OddHeaders, ServerWire } from './server-process.ts';

export interface PlayOptions extends ClientSideOptions {
  readonly launch: Launch;
  /** Tools whose results name the roots. A client with roots calls them at the end of the play. */
  readonly rootsTools: readonly string[];
  /**
   * How to synchronize with the server: by a ping or, if it answers none, by a period of silence.
   */
  readonly fence: 'ping' | 'quiet';
  readonly times: PlayTimes;
  /** Kills the server and thereby ends the play. */
  readonly signal: AbortSignal | undefined;
}

/** Time limits, ms. */
export interface PlayTimes {
  /** Time limit for the answer to initialize. */
  readonly startMs: number;
  /** Time limit for other answers. */
  readonly answerMs: number;
  /** Time limit for exiting after the end of the input. */
  readonly endMs: number;
  /** Length of silence to wait for, if no answer can be waited for. */
  readonly quietMs: number;
}

/** Maximum number of rounds of retries at the end of a play. */
const maxRounds = 20;

/** Longer than any roots timeout of our own servers. */
const longTimeMs = 6_000;

/** Plays one sequence, answers open requests, ends the server's input, and waits for its exit. */
export async function play(sequence: MoveSequence, options: PlayOptions): Promise<Trace> {
  const player = new SequencePlayer(options);
  await player.play(sequence);
  return new Trace(player.happenings);
}

class SequencePlayer {
  readonly happenings: Happening[] = [];
  readonly #options: PlayOptions;
  readonly #client: ClientSide;
  readonly #wire: ServerWire;
  readonly #waiting = new Set<() => void>();
  #chunk = '';
  #state = playChart.initial;

  constructor(options: PlayOptions) {
    this.#options = options;
    this.#client = new ClientSide(options, (sent, odd) => {
      if (odd) this.#flush();
      this.happenings.push(sent);
      this.#chunk += `${sent.text}\n`;
      if (odd) this.#flush(odd);
    });
    this.#wire = options.launch({
      line: (text, via) => this.#take(text, via),
      answered: (exchange) => this.happenings.push({ kind: 'answered', exchange }),
      over: (exchange) => {
        this.happenings.push({ kind: 'over', exchange });
        this.#client.giveUp(requestIdsIn(exchange));
        this.#wake();
      },
      ended: (exit) => {
        this.happenings.push({ kind: 'ended', exit });
        this.#move('server.ended');
        this.#wake();
      },
    });
  }

  #move(type: PlayEvent['type']): void {
    this.#state = playChart.next(this.#state, { type });
  }

  #isAt(state: 'playing' | 'settling' | 'inputEnded' | 'ended'): boolean {
    return this.#state.matches({ moves: state });
  }

  async play(sequence: MoveSequence): Promise<void> {
    const { signal } = this.#options;
    const kill = () => this.#wire.kill();
    signal?.addEventListener('abort', kill);
    try {
      for (const move of sequence) {
        if (!this.#isAt('playing')) break;
        await this.#perform(move);
      }
      if (this.#isAt('playing')) await this.#settle();
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
      case 'http-second-stream':
        this.#note(move, 'GET, in addition to the open stream');
        return this.#wire.http?.secondStream();
      case 'http-resume':
        this.#note(move, 'GET, with the Last-Event-ID of the first event');
        return this.#wire.http?.resume();
      case 'http-get':
        this.#note(move, 'GET and DELETE');
        return this.#wire.http?.stray();
      case 'http-gone':
        this.#note(move, 'DELETE');
        await this.#wire.http?.endSession();
        moveMessages[move.type](this.#client, move);
        await this.#owesNothing();
        return this.#endInput();
      case 'answer':
      case 'answer-reversed':
      case 'refuse':
        // If nothing is held yet, a pong proves that the server has sent no request.
        this.#flush();
        if (this.#client.held.length === 0) await this.#fence();
        break;
      case 'retry':
      case 'retry-twice':
      case 'retry-forged':
        // Only a call's answer tells whether it requests input.
        await this.#owesNothing(({ method }) => method === 'tools/call');
        break;
      default:
    }
    moveMessages[move.type](this.#client, move);
  }

  /** Records an HTTP action without a message. */
  #note(move: Move, note: string): void {
    this.#flush();
    const impolite = isImpolite(move);
    this.happenings.push({
      kind: 'sent',
      text: '',
      value: undefined,
      move: move.type,
      impolite,
      note,
    });
  }

  /**
   * Waits for the answer to `initialize`, then for a pong, by which time earlier answers have
   * arrived.
   */
  async #fence(): Promise<void> {
    this.#flush();
    const { owed } = this.#client;
    const greeting = [...owed.values()].find(({ method }) => method === Method.initialize);
    if (greeting) await this.#answered([idKey(greeting.id)], this.#options.times.startMs);
    this.#waited('fence', await this.#answersPing());
  }

  async #answersPing(): Promise<boolean> {
    const { fence, times } = this.#options;
    if (this.#isAt('ended') || this.#state.matches({ patience: 'spent' })) return false;
    // Before initialize a server need not answer anything.
    if (!this.#client.offered) return true;
    if (fence === 'quiet') {
      await this.#until(() => false, times.quietMs);
      return !this.#isAt('ended');
    }
    // A server that has sent nothing yet may still be starting.
    const isUp = this.happenings.some(({ kind }) => kind === 'received');
    const key = idKey(this.#client.probe());
    const answered = await this.#answered([key], isUp ? times.answerMs : times.startMs);
    await this.#wire.idle?.();
    return answered;
  }

  /** Answers the server's requests and waits until the server has answered everything. */
  async #settle(): Promise<void> {
    this.#move('moves.done');
    const client = this.#client;
    this.#flush();
    for (const held of [...client.held]) client.answer(held);
    while (client.listening.length > 0) client.unlisten();
    let ok = await this.#owesNothing();
    // A repeated call ends after the cancelled one would have ended.
    for (const tool of ok ? client.cancelledTools : []) client.call(client.nextId(), tool);
    ok &&= await this.#owesNothing();
    // A tool may request input more than once.
    for (let rounds = 0; ok && rounds < maxRounds && client.asking.length > 0; rounds++) {
      client.retry();
      ok = await this.#owesNothing();
    }
    ok &&= await this.#callRootsTools();
    this.#waited('settled', (await this.#answersPing()) && ok);
  }

  /**
   * Calls the tools that name the roots if the roots or a late answer may have changed them.
   * Repeats until they name the newest root, because a server may query roots at any time.
   */
  async #callRootsTools(): Promise<boolean> {
    const { rootsTools, times } = this.#options;
    const client = this.#client;
    const isInQuestion = client.hasChangedRoots || client.hasAnsweredLate;
    if (!client.offered?.['roots'] || !isInQuestion || rootsTools.length === 0) return true;
    for (let waitedMs = 0; ; waitedMs += times.quietMs) {
      const from = this.happenings.length;
      for (const tool of rootsTools) client.call(client.nextId(), tool);
      if (!(await this.#owesNothing())) return false;
      const told = this.happenings.slice(from).filter((one) => one.kind === 'received');
      const isNewest = told.some((one) => client.namesNewestRoot(one));
      if (isNewest || !client.hasChangedRoots || waitedMs >= times.answerMs) return true;
      await (this.#wire.passTime?.(times.quietMs) ?? this.#until(() => false, times.quietMs));
    }
  }

  /** @param concerns selects the requests to wait for; default all */
  async #owesNothing(
    concerns: (asked: { readonly method: string }) => boolean = () => true,
  ): Promise<boolean> {
    const { owed } = this.#client;
    const left = () => [...owed].flatMap(([key, asked]) => (concerns(asked) ? [key] : []));
    this.#flush();
    if (!this.#wire.passTime) return this.#answered(left(), this.#options.times.answerMs);
    // Move the clock, if possible, until no request is open.
    for (let rounds = 0; rounds < 20 && left().length > 0; rounds++) {
      await this.#wire.passTime(1_000);
    }
    return left().length === 0;
  }

  #endInput(): void {
    this.#flush();
    this.#move('input.ended');
    this.happenings.push({ kind: 'input-ended' });
    this.#wire.end();
  }

  async #end(): Promise<void> {
    const { times } = this.#options;
    // A server that has sent nothing yet may still be starting.
    const isUp = this.happenings.some(({ kind }) => kind === 'received');
    const endMs = isUp ? times.endMs : Math.max(times.endMs, times.startMs);
    if (this.#isAt('playing') || this.#isAt('settling')) this.#endInput();
    await this.#wire.passTime?.(endMs);
    if (await this.#until(() => this.#isAt('ended'), endMs)) return;
    this.happenings.push({ kind: 'overdue' });
    this.#wire.kill();
    await this.#until(() => this.#isAt('ended'), endMs);
  }

  #waited(what: Waited['for'], ok: boolean): void {
    this.happenings.push({ kind: 'waited', for: what, ok });
  }

  #flush(odd?: OddHeaders): void {
    const chunk = this.#chunk;
    this.#chunk = '';
    if (chunk !== '' && !this.#isAt('ended')) this.#wire.send(chunk, odd);
  }

  /** Waits for the answers to requests; true if all have arrived. */
  async #answered(keys: readonly string[], timeoutMs: number): Promise<boolean> {
    const { owed } = this.#client;
    const all = () => keys.every((key) => !owed.has(key));
    this.#flush();
    if (this.#state.matches({ patience: 'spent' })) return all();
    const came = await this.#until(all, timeoutMs);
    if (!came && !this.#isAt('ended')) this.#move('wait.expired');
    return came;
  }

  /**
   * Resolves once the condition holds, the server has ended, or the time is up; true if the
   * condition holds.
   */
  #until(condition: () => boolean, timeoutMs: number): Promise<boolean> {
    if (condition() || this.#isAt('ended')) return Promise.resolve(condition());
    return new Promise((resolve) => {
      const finish = () => {
        clearTimeout(timer);
        this.#waiting.delete(look);
        resolve(condition());
      };
      const look = () => {
        if (condition() || this.#isAt('ended')) finish();
      };
      const timer = setTimeout(finish, timeoutMs);
      this.#waiting.add(look);
    });
  }

  #wake(): void {
    for (const look of this.#waiting) look();
  }

  #take(text: string, via?: ObservedExchange): void {
    // Empty lines contain no message.
    if (text.trim() === '') return;
    const client = this.#client;
    const value = parsed(text);
    this.happenings.push({ kind: 'received', text, value, ...(via ? { via } : {}) });
    client.take(value);
    if (this.#isAt('settling')) {
      for (const held of [...client.held]) client.answer(held);
    }
    // Send the answer to the server's ping at once.
    if (!this.#isAt('inputEnded')) this.#flush();
    this.#wake();
  }
}
