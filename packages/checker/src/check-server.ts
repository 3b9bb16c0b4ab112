/** Plays generated sequences against a server and determines which invariants hold. */
import type { JsonObject } from 'mcp-actors';
import { MetaKey, Method, isJsonObject } from 'mcp-actors/internal';
import type { CheckReport, InvariantFinding } from './check-report.ts';
import type { ClientFeatures } from './client.machine.ts';
import { formatResponse } from './http/exchange.ts';
import { requestTriggers } from './invariants/lifecycle.ts';
import { countVerdicts, invariantsOf } from './invariants/tally.ts';
import type { Breach, Tally } from './invariants/tally.ts';
import { parseSequence, formatSequence } from './move.ts';
import type { MoveType, MoveSequence } from './move.ts';
import { hasBatches, isStateless } from './outgoing.ts';
import { noteOnSdk, officialSdkIn } from './official-sdk.ts';
import { play } from './player.ts';
import type { PlayOptions, PlayTimes } from './player.ts';
import { rootName } from './roots-folder.ts';
import { coveringSequences, isWalk, randomWalks, seededRandom, shrink } from './sequences.ts';
import type { Trace } from './trace.ts';
import type { Launch } from './server-process.ts';

export interface CheckOptions {
  readonly launch: Launch;
  /** Transport to the launched server. Default: stdio. */
  readonly transport?: 'stdio' | 'http';
  /** Revision the client requests. */
  readonly revision: string;
  /** Tools that may be called, with their arguments. */
  readonly tools: ReadonlyMap<string, JsonObject>;
  /** URI of the folder that contains the root folders. */
  readonly rootsUri: string;
  readonly times: PlayTimes;
  /** Seed of the random walks. */
  readonly seed: number;
  /** Number of random walks. */
  readonly walks: number;
  /** Number of concurrent plays. */
  readonly jobs: number;
  /** Ids of the invariants to judge. Default: all. */
  readonly only?: ReadonlySet<string>;
  /** Sequences to play instead of generated ones. */
  readonly sequences?: readonly MoveSequence[];
  /** True if the server's clock can be moved; see {@link ClientFeatures}. */
  readonly movesTime?: boolean;
  /** Aborts the check: running servers are killed, and the report covers the plays so far. */
  readonly signal?: AbortSignal;
  /** Called with the number of plays before the first and after each. */
  readonly progress?: (done: number, total: number) => void;
}

/** Facts about the server from the first plays. */
interface Probed {
  readonly features: ClientFeatures;
  readonly fence: PlayOptions['fence'];
  readonly rootsTools: readonly string[];
  readonly askingTools: readonly string[];
  readonly revision: string;
}

/** Maximum number of plays for shrinking one sequence. */
const shrinkLimit = 40;

/** Time allowed for a server to exit once it has repeatedly outlived its input, ms. */
const lastingMs = 300;

/** Number of other sequences replayed if the shortest does not fail again. */
const secondTries = 5;

/** The server's process could not be started; the message has the reason. */
export class ServerStartError extends Error {
  override readonly name = 'NotStarted';
}

/** @throws {ServerStartError} if the server could not be started */
export async function checkServer(options: CheckOptions): Promise<CheckReport> {
  return new CheckRun(options).run();
}

class CheckRun {
  readonly #options: CheckOptions;
  readonly #notes: string[] = [];
  readonly #tallies: Tally[];
  /** See `Played.requestTriggers`. */
  readonly #requestTriggers = new Set<string>();
  readonly #played = new Map<string, Promise<Trace>>();
  #server: CheckReport['server'];
  #probed: Probed;
  #plays = 0;
  /** Number of plays in which the server outlived its input. */
  #outlived = 0;
  /** Official SDK the server appears to use. */
  #sdk: string | undefined;

  constructor(options: CheckOptions) {
    this.#options = options;
    const { revision, movesTime = false, transport = 'stdio' } = options;
    this.#tallies = invariantsOf(revision, transport)
      .filter(({ id }) => options.only?.has(id) ?? true)
      .map((invariant) => ({ invariant, held: 0, breaches: [] }));
    const declares = { tools: false, resources: false, prompts: false, logging: false };
    const batches = hasBatches(revision);
    const stateless = isStateless(revision);
    const withdraws = movesTime && !stateless;
    this.#probed = {
      features: {
        tools: [],
        asks: false,
        withdraws,
        declares,
        stateless,
        transport,
        batches,
        movesTime,
      },
      fence: 'ping',
      rootsTools: [],
      askingTools: [],
      revision,
    };
  }

  async run(): Promise<CheckReport> {
    if (await this.#probe()) {
      const { seed, walks, sequences } = this.#options;
      const { features } = this.#probed;
      const first = sequences ?? coveringSequences(features);
      const total = first.length + (sequences ? 0 : walks);
      this.#options.progress?.(0, total);
      await this.#playAll(first, 0, total);
      if (!sequences) {
        const random = randomWalks(features, walks, seededRandom(seed), this.#unanswered());
        await this.#playAll(random, first.length, total);
      }
    }
    const findings: InvariantFinding[] = [];
    for (const tally of this.#tallies) {
      const finding = await this.#find(tally);
      if (finding) findings.push(finding);
    }
    const ofSdk = noteOnSdk(this.#sdk, findings);
    if (ofSdk !== undefined) this.#notes.push(ofSdk);
    return {
      server: this.#server,
      revision: this.#probed.revision,
      seed: this.#options.seed,
      plays: this.#plays,
      interrupted: this.#isInterrupted,
      findings,
      notes: this.#notes,
    };
  }

  get #isInterrupted(): boolean {
    return this.#options.signal?.aborted === true;
  }

  /**
   * Performs the handshake and determines the server's features.
   * @returns false if the server is unusable
   */
  async #probe(): Promise<boolean> {
    const { stateless } = this.#probed.features;
    const handshake = movesOf(stateless ? 'discover wait' : 'initialize wait initialized wait');
    const first = await this.#play(handshake);
    if (this.#isInterrupted) return false;
    const end = first.happenings.find((one) => one.kind === 'ended');
    if (end?.exit.failure !== undefined) throw new ServerStartError(end.exit.failure);
    const { declared = {} } = first;
    const greeting = stateless ? first.discovered : first.greeting?.result;
    if (!greeting) {
      this.#count(handshake, first);
      const stderr = end?.exit.stderr?.trim();
      const [exchange] = first.exchanges;
      this.#notes.push(
        `The server did not answer ${stateless ? 'server/discover' : 'initialize'}, so nothing else was tested${stderr ? `; end of its stderr:\n${stderr}` : ''}${exchange ? `: ${formatResponse(exchange)}` : ''}`,
      );
      return false;
    }
    const hasSession = first.exchanges[0]?.headers['mcp-session-id'] !== undefined;
    const { protocolVersion } = greeting;
    const meta = greeting['_meta'];
    const serverInfo =
      stateless && isJsonObject(meta) ? meta[MetaKey.serverInfo] : greeting['serverInfo'];
    if (isJsonObject(serverInfo)) {
      this.#server = { name: String(serverInfo['name']), version: String(serverInfo['version']) };
    }
    const revision = typeof protocolVersion === 'string' ? protocolVersion : this.#probed.revision;
    if (revision !== this.#options.revision) {
      this.#notes.push(
        `The client requested ${this.#options.revision}; the server negotiated ${revision}`,
      );
    }
    const answersPings = first.happenings.every((one) => one.kind !== 'waited' || one.ok);
    if (!answersPings) {
      this.#count(handshake, first);
      this.#notes.push(
        `The server does not answer pings, so each wait ends after ${this.#options.times.quietMs} ms of silence`,
      );
    }
    const names = [...this.#options.tools.keys()];
    if (names.length > 0 && !isJsonObject(declared['tools'])) {
      this.#notes.push('The server does not declare tools, so none was called');
    }
    this.#probed = {
      ...this.#probed,
      revision,
      fence: answersPings ? 'ping' : 'quiet',
      features: {
        ...this.#probed.features,
        transport: hasSession ? 'http-session' : this.#probed.features.transport,
        batches: hasBatches(revision),
        tools: isJsonObject(declared['tools']) ? names : [],
        declares: {
          tools: isJsonObject(declared['tools']),
          resources: isJsonObject(declared['resources']),
          prompts: isJsonObject(declared['prompts']),
          logging: isJsonObject(declared['logging']),
        },
      },
    };
    await this.#probeTools();
    await this.#probeWithdrawals();
    return !this.#isInterrupted;
  }

  async #probeTools(): Promise<void> {
    const { features } = this.#probed;
    const calls = features.tools.map((tool) => ({ type: 'call', tool }) as const);
    const start = movesOf(
      features.stateless ? 'list wait' : 'initialize wait initialized wait answer-reversed wait',
    );
    const sequence = [...start, ...calls, ...movesOf('wait')];
    const trace = await this.#play(sequence);
    if (this.#isInterrupted) return;
    const rootsTools: string[] = [];
    const asking: string[] = [];
    for (const { id, params } of trace.of('call')) {
      const tool = String(params['name']);
      const answer = trace.answersTo(id)[0]?.message;
      const text = JSON.stringify(answer?.['result'] ?? null);
      if (text.includes(rootName)) rootsTools.push(tool);
      const { isError, resultType } = (answer?.['result'] ?? {}) as JsonObject;
      if (resultType === 'input_required') asking.push(tool);
      if (!answer) this.#notes.push(`The tool ${tool} did not answer in time`);
      else if (answer['error'] || isError) {
        this.#notes.push(`The tool ${tool} failed: ${JSON.stringify(answer).slice(0, 300)}`);
      }
    }
    const asks = asking.length > 0 || queriesRoots(trace);
    this.#probed = {
      ...this.#probed,
      rootsTools,
      askingTools: asking,
      features: { ...features, asks },
    };
    this.#count(sequence, trace);
  }

  /** Determines whether the server cancels its own requests. */
  async #probeWithdrawals(): Promise<void> {
    const { features } = this.#probed;
    // A stateless server sends no requests that it could cancel.
    if (this.#isInterrupted || features.stateless) return;
    const cancellations = features.tools.flatMap((tool): MoveSequence => [
      { type: 'call', tool },
      ...movesOf('wait cancel wait'),
    ]);
    const start = movesOf('initialize wait initialized wait roots-changed wait');
    const sequence = [...start, ...cancellations];
    const trace = await this.#play(sequence);
    if (this.#isInterrupted) return;
    const withdraws = features.withdraws || trace.notifications(Method.cancelled).length > 0;
    // Some servers only query the roots when they change.
    const asks = features.asks || queriesRoots(trace);
    this.#probed = { ...this.#probed, features: { ...features, withdraws, asks } };
    this.#count(sequence, trace);
  }

  /** @param playedBefore number of plays, out of the total, before these */
  async #playAll(
    sequences: readonly MoveSequence[],
    playedBefore: number,
    total: number,
  ): Promise<void> {
    const traces: (Trace | undefined)[] = [];
    const todo = sequences.entries();
    let done = playedBefore;
    const job = async () => {
      for (const [at, sequence] of todo) {
        if (this.#isInterrupted) return;
        const trace = await this.#play(sequence);
        // An aborted play says nothing about the server.
        if (this.#isInterrupted) return;
        traces[at] = trace;
        this.#options.progress?.(++done, total);
      }
    };
    await Promise.all(Array.from({ length: this.#options.jobs }, job));
    for (const [at, sequence] of sequences.entries()) {
      const trace = traces[at];
      if (trace) this.#count(sequence, trace);
    }
  }

  async #play(sequence: MoveSequence): Promise<Trace> {
    this.#plays++;
    const { launch, tools, rootsUri, times: given, revision, signal } = this.#options;
    // After two timeouts, do not wait the full time for each exit.
    const isLasting = this.#outlived >= 2;
    const times = isLasting ? { ...given, endMs: Math.min(given.endMs, lastingMs) } : given;
    const { features, fence, rootsTools } = this.#probed;
    const argumentsOf = (tool: string) => tools.get(tool) ?? {};
    const trace = await play(sequence, {
      launch,
      revision,
      features,
      argumentsOf,
      rootsUri,
      rootsTools,
      fence,
      times,
      signal,
    });
    for (const { kind } of trace.happenings) if (kind === 'overdue') this.#outlived++;
    this.#sdk ??= officialSdkIn(trace);
    return trace;
  }

  #count(sequence: MoveSequence, trace: Trace): void {
    for (const occasion of requestTriggers(trace)) this.#requestTriggers.add(occasion);
    countVerdicts(this.#tallies, sequence, trace, this.#context);
  }

  /** Moves the server left unanswered: walks with one would only time out again. */
  #unanswered(): ReadonlySet<MoveType> {
    const silences = this.#tallies.flatMap(({ breaches }) => breaches);
    const last = silences
      .filter(({ evidence }) => evidence === 'silence')
      .flatMap(({ sequence }) => sequence.findLast(({ type }) => type !== 'wait') ?? []);
    const needed: readonly MoveType[] = ['initialize', 'initialize-bare', 'initialized'];
    return new Set(last.map(({ type }) => type).filter((type) => !needed.includes(type)));
  }

  async #find({ invariant, held, breaches }: Tally): Promise<InvariantFinding | undefined> {
    const { id, title, needs } = invariant;
    const demanded = invariant.demanded(this.#probed.revision);
    if (!demanded) return undefined;
    const base = { id, title, needs, ...demanded };
    const plays = held + breaches.length;
    const [first, ...others] = breaches.toSorted((a, b) => a.sequence.length - b.sequence.length);
    if (!first) return { ...base, outcome: plays === 0 ? 'untried' : 'holds', plays };
    let shortest = await this.#shorten(invariant, first);
    for (const other of others.slice(0, secondTries)) {
      if (shortest.again) break;
      shortest = await this.#shorten(invariant, other);
    }
    if (shortest.again === false && shortest.evidence === 'silence') {
      this.#notes.push(
        `${id} failed, but not when played again: ${formatSequence(first.sequence)} (${first.detail}); try a longer --timeout`,
      );
      return { ...base, outcome: 'holds', plays };
    }
    return { ...base, outcome: 'broken', plays, breach: { ...shortest, plays: breaches.length } };
  }

  /** Finds the shortest part of the sequence that breaks the invariant again. */
  async #shorten(
    invariant: Tally['invariant'],
    first: Breach,
  ): Promise<Breach & { readonly again: boolean | undefined }> {
    let shortest = { ...first, again: false };
    const breaks = async (sequence: MoveSequence) => {
      if (this.#isInterrupted) return false;
      // A sequence given by the caller need not be a walk.
      if (sequence !== first.sequence && !isWalk(sequence, this.#probed.features)) return false;
      const trace = await this.#replay(sequence);
      if (this.#isInterrupted) return false;
      const tally: Tally = { invariant, held: 0, breaches: [] };
      countVerdicts([tally], sequence, trace, this.#context);
      const [breach] = tally.breaches;
      if (breach) shortest = { ...breach, again: true };
      return breach !== undefined;
    };
    await shrink(first.sequence, breaks, shrinkLimit);
    if (!shortest.again) await breaks(first.sequence);
    return shortest.again || !this.#isInterrupted ? shortest : { ...shortest, again: undefined };
  }

  /** Context for judging a play besides its trace. */
  get #context() {
    const { revision, rootsTools, askingTools } = this.#probed;
    return { revision, rootsTools, askingTools, requestTriggers: this.#requestTriggers };
  }

  /** Plays a sequence unless shrinking for another invariant has already played it. */
  #replay(sequence: MoveSequence): Promise<Trace> {
    const text = formatSequence(sequence);
    const trace = this.#played.get(text) ?? this.#play(sequence);
    this.#played.set(text, trace);
    return trace;
  }
}

function queriesRoots(trace: Trace): boolean {
  return trace.calls.some(({ message }) => message['method'] === Method.rootsList);
}

function movesOf(text: string): MoveSequence {
  const read = parseSequence(text);
  if ('unknown' in read) throw new Error(`Unknown move ${read.unknown}`);
  return read.moves;
}
