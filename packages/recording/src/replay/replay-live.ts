/**
 * Replays a client's messages in a session with live handlers. They take real time, so frames match in any order, and
 * only the events of each machine are ordered.
 */
import { setImmediate } from 'node:timers/promises';
import { systemClock } from '../../../../src/actors/clock.ts';
import { isJsonObject } from '../../../../src/protocol/classify.ts';
import type { RequestState, StateSealer } from '../../../../src/rounds/request-state.ts';
import type { McpServer } from '../../../../src/server/create-server.ts';
import type { McpSession } from '../../../../src/server/session.ts';
import { isOutput } from '../format.ts';
import type { RecordedLine, RecordingHeader, TransitionLine } from '../format.ts';
import type { NumberedLine, Recording } from '../recording.ts';
import { isSameJson, withoutTime } from './difference.ts';
import type { Difference } from './difference.ts';
import { RequestNames, UnclaimedOutputs, compareEnd } from './live-output.ts';
import type { Playback } from './playback.ts';
import { RecordingCursor } from './recording-cursor.ts';
import { replayEnds, writerFact } from './replay-ends.actor.ts';
import type { ReplayEnds } from './replay-ends.actor.ts';
import { ReplayClock, optionsOf, replayEnvironment } from './replay-world.ts';

/** Replays with live handlers. @returns the first difference, if any */
export function replayLive(
  recording: Recording,
  header: RecordingHeader,
  server: McpServer,
  playback: Playback,
): Promise<Difference | undefined> {
  const player = new LivePlayer(recording, header, server, playback);
  return player.play().finally(() => player.stop());
}

class LivePlayer {
  readonly #recording: Recording;
  readonly #playback: Playback;
  readonly #clock: ReplayClock;
  readonly #frames: UnclaimedOutputs<object>;
  readonly #transitions = new Map<string, UnclaimedOutputs<object>>();
  readonly #names: RequestNames;
  readonly #ends: ReplayEnds;
  readonly #session: McpSession;
  /** True if concurrent requests may have the same id. */
  readonly #hasSharedIds: boolean;

  constructor(
    recording: Recording,
    header: RecordingHeader,
    server: McpServer,
    playback: Playback,
  ) {
    this.#recording = recording;
    this.#hasSharedIds = recording.lines.some(
      ({ line }) => 'origin' in line && line.origin?.idScope === 'request',
    );
    this.#playback = playback;
    this.#clock = new ReplayClock(header.at);
    this.#frames = new UnclaimedOutputs(playback.patienceMs);
    this.#names = new RequestNames((id) => typeof id === 'string' && id.startsWith('s-'));
    const cursor = new RecordingCursor(recording, () => {});
    this.#ends = replayEnds({
      said: (frame) => this.#frames.add(frame as object),
      flush: () => queueMicrotask(() => this.#ends.tell({ type: 'output.flushed' })),
    });
    this.#session = server.listen(this.#ends.transport, {
      ...optionsOf(header),
      clock: systemClock,
      environment: {
        ...replayEnvironment({
          header,
          clock: this.#clock,
          transport: this.#ends.transport,
          random: (of) => cursor.random(of),
          output: (line) => {
            if ('machine' in line) this.#eventsOf(line).add(line);
          },
          // The live server's version may differ from the recorded one.
          server: (live) => ({ ...live, serverInfo: header.server.serverInfo }),
          afterwards: () => {},
        }),
        sealer: (sealer) => recordedSeals(recording, sealer),
      },
      ...playback.liveSession,
    });
  }

  async play(): Promise<Difference | undefined> {
    for (const each of this.#recording.lines) {
      const { line } = each;
      if ('at' in line) this.#clock.advanceTo(line.at);
      const difference = isOutput(line) ? await this.#compare(each) : await this.#give(each);
      if (difference) return difference;
    }
    await setImmediate();
    const { oldest } = this.#frames;
    if (!oldest || this.#recording.unfinished !== undefined) return undefined;
    const number = this.#recording.lines.at(-1)?.number ?? 1;
    return {
      problem: 'the replay sends more than was recorded',
      number,
      replayed: { server: oldest },
    };
  }

  /** Ends the session. */
  stop(): void {
    this.#session.actor.stop();
  }

  async #give(each: NumberedLine): Promise<undefined> {
    const { line } = each;
    const give = this.#inputOf(line);
    if (!give) return;
    await this.#playback.before(each);
    this.#playback.given(each);
    give();
    await setImmediate();
  }

  /** Replays inputs of the client, clock and transport. Live handlers provide the others. */
  #inputOf(line: RecordedLine): (() => void) | undefined {
    const ends = this.#ends;
    if ('client' in line) {
      return () => ends.receive({ ...line, client: this.#names.fill(line.client) });
    }
    if ('frames' in line) {
      return () => ends.receive({ ...line, frames: this.#names.fill(line.frames) });
    }
    if ('gone' in line) return () => ends.gone(line);
    if ('unsent' in line) return () => void ends.unsent(line, this.#names.fill(line.id));
    if ('end' in line) return () => ends.tell({ type: 'input.ended' });
    if ('shutdown' in line) {
      return () => this.#session.shutdown(line.shutdown, line.drainTimeoutMs ?? undefined);
    }
    if ('timer' in line) return () => void this.#clock.fire(line.timer);
    if ('ping' in line && typeof line.timeoutMs === 'number') {
      const { timeoutMs } = line;
      return () => void this.#session.ping({ timeoutMs }).catch(() => {});
    }
    if ('channel' in line) return () => ends.tell(writerFact(line));
    if (!('output' in line) || line.output === 'flushed') return undefined;
    return () => ends.tell(writerFact(line));
  }

  async #compare(each: NumberedLine): Promise<Difference | undefined> {
    const { number, line } = each;
    if ('machine' in line) {
      const found = await this.#eventsOf(line).claim();
      if (found && isSameJson(found, withoutTime(line))) return this.#matched(each);
      const problem = `the ${line.machine} machine does something else`;
      return { problem, number, recorded: line, ...(found ? { replayed: found } : {}) };
    }
    if ('closed' in line) {
      const { patienceMs } = this.#playback;
      const difference = await compareEnd(this.#session, { number, line }, patienceMs);
      return difference ?? this.#matched(each);
    }
    return 'server' in line ? this.#compareFrame(each, line.server) : undefined;
  }

  async #compareFrame(each: NumberedLine, server: unknown): Promise<Difference | undefined> {
    const names = this.#names;
    const isNew = names.isUnbound(server);
    const expected = isNew ? server : names.fill(server);
    const isSame = (frame: object) =>
      isSameJson(
        isNew ? { ...frame, id: (server as { readonly id: unknown }).id } : frame,
        expected,
      );
    // A different answer to the same request is final, so do not wait.
    const isOther = (frame: object) => !this.#hasSharedIds && answersSame(frame, expected);
    const found = await this.#frames.claim((frame) => isSame(frame) || isOther(frame));
    if (found && isSame(found)) {
      names.bind(server, found);
      return this.#matched(each);
    }
    const problem = found ? 'the replay sends something else' : 'the replay does not send this';
    const { number } = each;
    return {
      problem,
      number,
      recorded: { server },
      ...(found ? { replayed: { server: found } } : {}),
    };
  }

  #matched(each: NumberedLine): undefined {
    this.#playback.matched(each);
  }

  /** Unmatched transitions of one machine. */
  #eventsOf({ machine, task, subscription }: TransitionLine): UnclaimedOutputs<object> {
    const key = `${machine} ${task ?? subscription ?? ''}`;
    const known = this.#transitions.get(key);
    if (known) return known;
    const events = new UnclaimedOutputs<object>(this.#playback.patienceMs);
    this.#transitions.set(key, events);
    return events;
  }
}

/**
 * Seals with the recorded tokens, because the client's recorded messages contain them. States of other sessions cannot be
 * opened.
 */
function recordedSeals({ lines }: Recording, sealer: StateSealer): StateSealer {
  const tokens = lines.flatMap(({ line }) =>
    'computed' in line && line.for === 'seal' && typeof line.value === 'string' ? [line.value] : [],
  );
  const states = new Map<string, RequestState>();
  return {
    ...sealer,
    seal: async (state) => {
      const token = tokens.shift() ?? (await sealer.seal(state));
      states.set(token, state);
      return token;
    },
    open: async (token) => states.get(token),
  };
}

/** True if both answer the same request. */
function answersSame(frame: object, expected: unknown): boolean {
  if (!isJsonObject(frame) || !isJsonObject(expected)) return false;
  const isAnswer = !('method' in frame) && !('method' in expected);
  return isAnswer && frame['id'] !== undefined && frame['id'] === expected['id'];
}
