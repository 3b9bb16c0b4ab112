/** Replays a recording in a session of this version and compares what the session does. */
import { RecordingError } from '../recording.ts';
import type { Recording } from '../recording.ts';
import type { Difference } from './difference.ts';
import { Playback } from './playback.ts';
import type { ReplayOptions } from './playback.ts';
import { replayConnection } from './replay-connection.ts';
import { replayLive } from './replay-live.ts';
import { replayRecorded } from './replay-recorded.ts';
import { replayTranscript } from './replay-transcript.ts';

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
