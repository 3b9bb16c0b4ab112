/** Gives a replay its inputs, each in the turn and the round of microtasks in which it came. */
import { setImmediate } from 'node:timers/promises';
import type { InputLine } from '../format.ts';
import type { NumberedLine } from '../recording.ts';
import { settledRounds } from '../timeline.ts';
import type { Playback } from './playback.ts';
import type { RecordingCursor } from './recording-cursor.ts';

/** Resolves after the last input, or the first difference; what is due then and missing is one too. */
export async function giveInputs(
  cursor: RecordingCursor,
  playback: Playback,
  give: (input: NumberedLine<InputLine>) => void,
): Promise<void> {
  for (let input = cursor.input; input && !cursor.difference; input = cursor.input) {
    const { nested, rounds } = input.line;
    if (!nested && rounds === undefined) {
      await playback.before(input);
      await setImmediate();
    } else {
      // A nested input is given within the call that it came in; wait here for that call.
      const earliest = nested ? 0 : (rounds ?? 0);
      let round = 0;
      // Not in a function of its own, because awaiting one takes a round, too.
      for (; round < settledRounds; round++) {
        if (cursor.input !== input || (round >= earliest && cursor.isCaughtUp)) break;
        await Promise.resolve();
      }
      if (round === settledRounds) await setImmediate();
    }
    if (cursor.input !== input) continue;
    cursor.expectCaughtUp();
    if (!cursor.difference) give(input);
  }
  await setImmediate();
  cursor.expectCaughtUp();
}
