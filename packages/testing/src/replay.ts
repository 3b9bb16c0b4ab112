/** A recording as a test. */
import { differenceText } from '../../recording/src/replay/difference.ts';
import { readRecordingFile } from '../../recording/src/recording-file.ts';
import { replay } from '../../recording/src/replay/replay.ts';
import type { ReplayOptions } from '../../recording/src/replay/playback.ts';
import type { ReplayResult } from '../../recording/src/replay/replay.ts';

/**
 * Plays a recording or a transcript, and rejects if the session does anything else:
 * `await expectReplay('bug-123.jsonl')`.
 *
 * @param path the file, relative to the working directory
 * @param options with `server`, that server's handlers run; otherwise they do what was recorded
 * @throws {Error} the first difference, with the lines before it
 * @throws {RecordingError} a file that cannot be played
 */
export async function expectReplay(
  path: string,
  options: ReplayOptions = {},
): Promise<ReplayResult> {
  const recording = await readRecordingFile(path);
  const result = await replay(recording, options);
  if (result.difference) throw new Error(differenceText(result.difference, recording));
  return result;
}
