/** Plays a recording to a session of this version, and compares what it does. */
import type { Difference } from './difference.ts';
import type { Playing, ReplayOptions } from './playing.ts';
import type { NumberedLine, Recording } from '../recording.ts';
import { RecordingError } from '../recording.ts';
import { replayLive } from './replay-live.ts';
import { replayRecorded } from './replay-recorded.ts';
import { playTranscript } from './transcript.ts';

/** What came of a replay. */
export interface ReplayResult {
  /** The first difference; undefined where the replay is what was recorded. */
  readonly difference: Difference | undefined;
  /** How much was given to the session, lines. */
  readonly inputs: number;
  /** How much of what it did was compared, lines. */
  readonly outputs: number;
  /** What a person should know of the recording: that it breaks off. */
  readonly note: string | undefined;
}

/**
 * Plays a recording.
 *
 * @throws {RecordingError} a transcript without a server
 */
export async function replay(
  recording: Recording,
  options: ReplayOptions = {},
): Promise<ReplayResult> {
  const { name, header, unfinished } = recording;
  const { server } = options;
  const counts = { inputs: 0, outputs: 0 };
  const playing: Playing = {
    ...options,
    patienceMs: options.patienceMs ?? 5000,
    before: async (input: NumberedLine) => {
      await options.before?.(input);
    },
    given: (input: NumberedLine) => {
      counts.inputs++;
      options.given?.(input);
    },
    matched: (output: NumberedLine) => {
      counts.outputs++;
      options.matched?.(output);
    },
  };
  const play = async () => {
    if (header && server) return replayLive(recording, header, server, playing);
    if (header) return replayRecorded(recording, header, playing);
    if (server) return playTranscript(recording, server, playing);
    throw new RecordingError(
      `${name}:1: this is a transcript without a header, so that no handler's result is in it: give the server whose handlers are to run`,
    );
  };
  const difference = await play();
  return { difference, ...counts, note: unfinished };
}
