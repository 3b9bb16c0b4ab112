import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, onTestFinished, test } from 'vitest';
import { leaksIn, processesWith } from '../soak/vitals.ts';
import type { Vitals } from '../soak/vitals.ts';

const MiB = 1024 ** 2;
const sample = (heapBytes: number, resources: Vitals['resources'] = {}): Vitals => ({
  heapBytes,
  rssBytes: 100 * MiB,
  resources: { PIPEWRAP: 3, ...resources },
});
const samples = (of: (round: number) => Vitals) => Array.from({ length: 16 }, (_, at) => of(at));

describe('leak detection of the soak test', () => {
  test.each<[string, (round: number) => Vitals]>([
    ['steady', () => sample(10 * MiB)],
    ['warming up', (round) => sample(round < 4 ? MiB : 10 * MiB)],
    ['uneven', (round) => sample((10 + (round % 3) * 20) * MiB, { Timeout: (round % 3) * 9 })],
    [
      'of which a child is running now and then',
      (round) => sample(MiB, { PROCESSWRAP: round % 2 }),
    ],
  ])('finds no leak in a server that is %s', (_, of) => {
    expect(leaksIn(samples(of))).toEqual([]);
  });

  test.each<[string, (round: number) => Vitals, string]>([
    [
      'heap',
      (round) => sample((10 + round) * MiB),
      'LEAK: the live heap has grown from 14.0 MiB to 20.0 MiB',
    ],
    ['timers', (round) => sample(MiB, { Timeout: round }), 'LEAK: Timeout: 4 lived early, 10 late'],
    [
      'a child',
      (round) => sample(MiB, { PROCESSWRAP: round < 10 ? 0 : 1 }),
      'LEAK: PROCESSWRAP: 0 lived early, 1 late',
    ],
  ])('detects that a server leaks %s', (_, of, leak) => {
    expect(leaksIn(samples(of))).toEqual([leak]);
  });

  test.skipIf(process.platform !== 'linux')('finds processes left by a server', async () => {
    const mark = `left-by-${process.pid}`;
    const child = spawn(process.execPath, ['-e', 'process.stdin.resume(); console.log(1)'], {
      env: { ...process.env, MARK: mark },
    });
    onTestFinished(() => void child.kill('SIGKILL'));
    await once(child.stdout, 'data');
    expect(processesWith(mark)).toEqual([child.pid]);
    child.kill('SIGKILL');
    await once(child, 'close');
    expect(processesWith(mark)).toEqual([]);
  });
});
