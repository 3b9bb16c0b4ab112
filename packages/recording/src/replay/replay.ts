/** Replays a recording in a session of this version, and compares the outputs. */
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

/** Result of a replay. */
export interface ReplayResult {
  /** The first difference; undefined if there is none. */
  readonly difference: Difference | undefined;
  /** Number of replayed input lines. */
  readonly inputs: number;
  /** Number of compared output lines. */
  readonly outputs: number;
  /** Why the recording is incomplete; undefined if it is complete. */
  readonly note: string | undefined;
}

/**
 * Replays a recording.
 *
 * @throws {RecordingError} a transcript without a server; or an invalid header, such as a negative limit
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

/** Translates errors of header values that have the right type but are invalid. */
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
 * Plays a handwritten transcript: a client's messages and the exact sequence of expected answers. Only the given members
 * of a frame are compared.
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
    // No drain, because results of running handlers are not needed.
    session.actor.stop();
  }
}
