/** Replays a recording in a session of this version and compares what the session does. */
import { RecordingError } from '../recording.ts';
import type { Recording, NumberedLine } from '../recording.ts';
import type { Difference } from './difference.ts';
import { Playback } from './playback.ts';
import type { ReplayOptions } from './playback.ts';
import { replayConnection } from './replay-connection.ts';
import { replayLive } from './replay-live.ts';
import { replayRecorded } from './replay-recorded.ts';
import { setImmediate } from 'node:timers/promises';
import type { McpServer } from '../../../../src/server/create-server.ts';
import { memory } from '../../../../src/transports/memory.ts';
import { loadLazyModules } from '../../../../src/actors/lazy-module.ts';
import { includesJson } from './difference.ts';
import { RequestNames, UnclaimedOutputs, compareEnd } from './live-output.ts';

/** What a replay found. */
export interface ReplayResult {
  /** The first difference; undefined if the replay does what was recorded. */
  readonly difference: Difference | undefined;
  /** How many lines were given to the session. */
  readonly inputs: number;
  /** How many lines of what it did were compared. */
  readonly outputs: number;
  /** Why the recording has no end, if it has none. */
  readonly note: string | undefined;
}

/**
 * Replays a recording.
 *
 * @throws {RecordingError} it is a transcript, and the options have no server; or no session can be
 *   made of its header, such as with a bound that is less than nothing
 */
export async function replay(
  recording: Recording,
  options: ReplayOptions = {},
): Promise<ReplayResult> {
  const { name, header, connection, unfinished } = recording;
  const { server } = options;
  const playback = new Playback(options);
  await loadLazyModules();
  const play = async () => {
    if (connection && server) {
      throw new RecordingError(
        `${name}:1: this is a host's connection: no server's handlers run in it`,
      );
    }
    if (connection) return begun(name, () => replayConnection(recording, connection, playback));
    if (header && server) {
      return begun(name, () => replayLive(recording, header, server, playback));
    }
    if (header) return begun(name, () => replayRecorded(recording, header, playback));
    if (server) return replayTranscript(recording, server, playback);
    throw new RecordingError(
      `${name}:1: this is a transcript without a header, so it has no results of handlers: give the server whose handlers are to run`,
    );
  };
  const difference = await play();
  return { difference, ...playback.counts, note: unfinished };
}

/** Members of a header may have the right type and yet make no session: those who read them say why. */
function begun<T>(name: string, begin: () => T): T {
  try {
    return begin();
  } catch (error) {
    if (error instanceof RecordingError) throw error;
    throw new RecordingError(
      `${name}:1: the header of the recording: ${(error as Error).message}`,
      {
        cause: error,
      },
    );
  }
}

/**
 * Plays a transcript written by hand: what a client sends, and what it must be answered, in this
 * order and nothing else. Of a frame, only the given members are compared.
 *
 * @returns the first difference, or undefined
 */
async function replayTranscript(
  { name, lines }: Recording,
  server: McpServer,
  playback: Playback,
): Promise<Difference | undefined> {
  const { transport, peer } = playback.connection ?? memory();
  const frames = new UnclaimedOutputs<object>(playback.patienceMs);
  peer.received$.subscribe((frame) => frames.add(frame as object));
  const session = server.listen(transport, playback.liveSession);
  const names = new RequestNames((id) => typeof id === 'string' && id.startsWith('$'));

  const compareFrame = async ({ number }: NumberedLine, expected: unknown) => {
    const found = await frames.claim();
    if (found === undefined) {
      const recorded = { server: names.fill(expected) };
      return { problem: 'the session does not send this', number, recorded };
    }
    const filled = names.bind(expected, found);
    if (includesJson(found, filled)) return undefined;
    const problem = 'the session sends something else';
    return { problem, number, recorded: { server: filled }, replayed: { server: found } };
  };
  const play = async (each: NumberedLine): Promise<Difference | undefined> => {
    const { number, line } = each;
    if ('server' in line) return compareFrame(each, line.server);
    if ('closed' in line) return compareEnd(session, { number, line }, playback.patienceMs);
    await playback.before(each);
    playback.given(each);
    if ('client' in line) {
      const messages = line.client.map((message) => `${JSON.stringify(names.fill(message))}\n`);
      peer.sendRaw(messages.join(''));
    } else if ('raw' in line) peer.sendRaw(line.raw);
    else if ('end' in line) peer.end();
    else if ('shutdown' in line) session.shutdown(line.shutdown);
    else {
      throw new RecordingError(
        `${name}:${number}: a transcript without a header has lines with client, raw, server, end, shutdown and closed`,
      );
    }
    return undefined;
  };

  try {
    for (const each of lines) {
      const difference = await play(each);
      if (difference) return difference;
      if ('server' in each.line || 'closed' in each.line) playback.matched(each);
      await setImmediate();
    }
    const { oldest } = frames;
    if (!oldest) return undefined;
    const number = lines.at(-1)?.number ?? 1;
    return {
      problem: 'the session sends more than the transcript has',
      number,
      replayed: { server: oldest },
    };
  } finally {
    // No drain: nobody needs what a handler still does.
    session.actor.stop();
  }
}
