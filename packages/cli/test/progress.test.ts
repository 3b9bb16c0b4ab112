import { expect, test } from 'vitest';
import { showProgress } from '../src/progress.ts';

/** A stream that keeps what is written, and a clock that the test moves. */
function shownOn(isTTY: boolean) {
  const written: string[] = [];
  let nowMs = 0;
  const stream = { isTTY, write: (text: string) => written.push(text) };
  const progress = showProgress(stream, () => nowMs);
  return { written, progress, at: (ms: number) => (nowMs = ms) };
}

test('on a terminal each play writes the line anew, with an estimate from the plays so far', () => {
  const { written, progress, at } = shownOn(true);
  progress.begin();
  progress.update(0, 20);
  at(2000);
  progress.update(1, 20);
  at(60_000);
  progress.update(2, 20);
  at(61_000);
  progress.update(20, 20);
  progress.end();
  expect(written).toEqual([
    'Starting the server',
    '\r0 of 20 plays\u001B[K',
    '\r1 of 20 plays, about 38s left\u001B[K',
    '\r2 of 20 plays, about 9min left\u001B[K',
    '\r20 of 20 plays, in 61s\u001B[K\n',
  ]);
});

test('the line is open before the first play has ended, and is ended if there is none', () => {
  const { written, progress } = shownOn(true);
  progress.begin();
  progress.end();
  expect(written).toEqual(['Starting the server', '\n']);
});

test('a line that is open when the check is interrupted is ended once', () => {
  const { written, progress } = shownOn(true);
  progress.update(1, 20);
  progress.end();
  progress.end();
  expect(written.slice(1)).toEqual(['\n']);
});

test('elsewhere there is a line for each tenth', () => {
  const { written, progress } = shownOn(false);
  for (let done = 1; done <= 1000; done += 1) progress.update(done, 1000);
  progress.end();
  expect(written).toHaveLength(10);
  expect(written[0]).toMatch(/^100 of 1000 plays, about 1s left\n$/);
  expect(written.at(-1)).toBe('1000 of 1000 plays, in 1s\n');
});
