/**
 * Replays what a client sent to a session whose handlers run. They take real time, so an output may come in another order than it was recorded in: frames are
 * taken as they are found, and the events of each machine keep their own order.
 */
import { setImmediate } from 'node:timers/promises';
import { systemClock } from '../../actors/clock.ts';
import { isJsonObject } from '../../protocol/classify.ts';
import type { InboundFrame } from '../../protocol/frames.ts';
import type { McpServer } from '../../server/create-server.ts';
import type { McpSession } from '../../server/session.ts';
import { Arrivals } from './arrivals.ts';
import { isSameJson } from './difference.ts';
import type { Difference } from './difference.ts';
import { endedWithin } from './ended.ts';
import { isOutput } from '../format.ts';
import type { RecordingHeader } from '../format.ts';
import { IdNames } from './id-names.ts';
import { recordedFrame } from '../inbound-messages.ts';
import type { Playing } from './playing.ts';
import type { NumberedLine, Recording } from '../recording.ts';
import { ReplayClock } from './replay-clock.ts';
import { replayEdge } from './replay-edge.ts';
import { replayEnds } from './replay-ends.ts';
import type { ReplayEnds } from './replay-ends.ts';
import { Script } from './script.ts';

type Line = NumberedLine['line'];

/** The first difference, or undefined. */
export async function replayLive(
  recording: Recording,
  header: RecordingHeader,
  server: McpServer,
  playing: Playing,
): Promise<Difference | undefined> {
  const player = new LivePlayer(recording, header, server, playing);
  try {
    return await player.play();
  } finally {
    player.stop();
  }
}

class LivePlayer {
  readonly #recording: Recording;
  readonly #playing: Playing;
  readonly #clock: ReplayClock;
  readonly #frames: Arrivals<object>;
  readonly #transitions = new Map<string, Arrivals<object>>();
  readonly #names: IdNames;
  readonly #ends: ReplayEnds;
  readonly #session: McpSession;

  constructor(recording: Recording, header: RecordingHeader, server: McpServer, playing: Playing) {
    this.#recording = recording;
    this.#playing = playing;
    this.#clock = new ReplayClock(header.at);
    this.#frames = new Arrivals(playing.patienceMs);
    this.#names = new IdNames((id) => typeof id === 'string' && id.startsWith('s-'));
    const script = new Script(recording, () => {});
    this.#ends = replayEnds({
      said: (frame) => this.#frames.add(frame as object),
      flush: () => queueMicrotask(() => this.#ends.tell({ type: 'output.flushed' })),
    });
    const { watchers, report, onRootsUpdated } = playing;
    this.#session = server.listen(this.#ends.transport, {
      limits: header.limits,
      clock: systemClock,
      edge: replayEdge({
        header,
        clock: this.#clock,
        transport: this.#ends.transport,
        random: (of) => script.random(of),
        output: (line) => {
          if ('machine' in line) this.#lane(line).add(line);
        },
        // Which version of the server plays is no difference.
        server: (live) => ({ ...live, serverInfo: header.server.serverInfo }),
        afterwards: () => {},
      }),
      ...(watchers ? { watchers } : {}),
      ...(onRootsUpdated ? { onRootsUpdated } : {}),
      ...(report ? { report } : {}),
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
    const { first } = this.#frames;
    if (!first || this.#recording.unfinished !== undefined) return undefined;
    const number = this.#recording.lines.at(-1)?.number ?? 1;
    return {
      problem: 'the replay sends more than was recorded',
      number,
      replayed: { server: first },
    };
  }

  /** Nothing of the session stays. */
  stop(): void {
    this.#session.actor.stop();
  }

  async #give(each: NumberedLine): Promise<undefined> {
    const { line } = each;
    const give = this.#inputOf(line);
    if (!give) return;
    await this.#playing.before(each);
    this.#playing.given(each);
    give();
    await setImmediate();
  }

  /** What the client, the clock and the pipe did; the rest is done by the live handlers. */
  #inputOf(line: Line): (() => void) | undefined {
    const ends = this.#ends;
    if ('client' in line) {
      return () =>
        ends.receive(line.client.map((message) => recordedFrame(this.#names.fill(message))));
    }
    if ('frames' in line) {
      return () => ends.receive(this.#names.fill(line.frames) as readonly InboundFrame[]);
    }
    if ('end' in line) return () => ends.tell({ type: 'input.ended' });
    if ('shutdown' in line) return () => this.#session.shutdown(line.shutdown, line.drainTimeoutMs);
    if ('timer' in line) return () => void this.#clock.fire(line.timer);
    if ('ping' in line && line.timeoutMs !== undefined) {
      const { timeoutMs } = line;
      return () => void this.#session.ping({ timeoutMs }).catch(() => {});
    }
    if (!('output' in line) || line.output === 'flushed') return undefined;
    const { output } = line;
    if (output !== 'broken') return () => ends.tell({ type: `output.${output}` });
    return () => ends.tell({ type: 'output.broken', error: new Error(line.error) });
  }

  async #compare(each: NumberedLine): Promise<Difference | undefined> {
    const { number, line } = each;
    if ('machine' in line) {
      const found = await this.#lane(line).take(() => true);
      if (found && isSameJson(found, withoutTime(line))) return this.#matched(each);
      const problem = `the ${line.machine} machine does something else`;
      return { problem, number, recorded: line, ...(found ? { replayed: found } : {}) };
    }
    if ('closed' in line) {
      const cause = await endedWithin(this.#session, this.#playing.patienceMs);
      if (cause?.kind === line.closed) return this.#matched(each);
      if (!cause) return { problem: 'the session does not end', number, recorded: line };
      const problem = 'the session ends for another cause';
      return { problem, number, recorded: line, replayed: { closed: cause.kind } };
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
    // Of the answers to a request there is one: where it is another, nothing else is waited for.
    const found = await this.#frames.take((frame) => isSame(frame) || answersSame(frame, expected));
    if (found && isSame(found)) {
      names.expect(server, found);
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
    this.#playing.matched(each);
  }

  #lane(line: Line & { readonly machine: string; readonly task?: number }): Arrivals<object> {
    const key = `${line.machine} ${line.task ?? ''}`;
    const lane = this.#transitions.get(key) ?? new Arrivals<object>(this.#playing.patienceMs);
    this.#transitions.set(key, lane);
    return lane;
  }
}

function answersSame(frame: object, expected: unknown): boolean {
  if (!isJsonObject(frame) || !isJsonObject(expected)) return false;
  const isAnswer = !('method' in frame) && !('method' in expected);
  return isAnswer && frame['id'] !== undefined && frame['id'] === expected['id'];
}

function withoutTime(line: object): object {
  return Object.fromEntries(Object.entries(line).filter(([key]) => key !== 'at'));
}
