/** Uses a recording as a test. */
import { differenceText } from '../../recording/src/replay/difference.ts';
import { readRecordingFile } from '../../recording/src/recording-file.ts';
import { replay } from '../../recording/src/replay/replay.ts';
import type { ReplayOptions } from '../../recording/src/replay/playback.ts';
import type { ReplayResult } from '../../recording/src/replay/replay.ts';

/**
 * Replays a recording or transcript and rejects at the first difference: `await
 * expectReplay('bug-123.jsonl')`.
 *
 * @param path file, relative to the working directory
 * @param options with `server`, that server's handlers run; otherwise the recorded results are used
 * @throws {Error} with the first difference and the preceding lines
 * @throws {RecordingError} if the file cannot be replayed
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
