/** A recording as a test. */
import { differenceText } from '../inspect/recording/difference.ts';
import { readRecordingFile } from '../inspect/recording/recording-file.ts';
import { replay } from '../inspect/recording/replay.ts';
import type { ReplayOptions } from '../inspect/recording/playing.ts';
import type { ReplayResult } from '../inspect/recording/replay.ts';

/**
 * Plays a recording, or a transcript, and fails where the session does something else: `await expectReplay('bug-123.jsonl')`.
 *
 * @param path of the file; relative to the working directory
 * @param options `server` runs that server's handlers; without it they do what the recorded ones did
 * @throws {Error} the first difference with the lines before it
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
