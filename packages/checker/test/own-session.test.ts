import { beforeAll, describe, expect, test } from 'vitest';
import { checkServer } from '../src/check-server.ts';
import type { CheckOptions } from '../src/check-server.ts';
import type { ClientFeatures } from '../src/client.machine.ts';
import { randomWalks, seededRandom } from '../src/sequences.ts';
import { reportText } from '../src/report-text.ts';
import { revisions } from '../../../test/contract/everywhere.ts';
import { launchOwn, warm } from './own-server.ts';

const features: ClientFeatures = {
  tools: ['slow', 'roots', 'asks'],
  asks: true,
  withdraws: true,
  declares: { tools: true, resources: true, prompts: true, logging: true },
  stateless: false,
  transport: 'stdio',
  batches: false,
  movesTime: true,
};

const options = {
  launch: launchOwn,
  tools: new Map([
    ['slow', {}],
    ['roots', {}],
    ['asks', {}],
  ]),
  rootsUri: 'file:///roots',
  times: { startMs: 5_000, answerMs: 5_000, endMs: 5_000, quietMs: 500 },
  jobs: 1,
  movesTime: true,
} as const satisfies Partial<CheckOptions>;

describe('our own session', () => {
  beforeAll(warm);

  const check = async (overrides: Partial<CheckOptions> & Pick<CheckOptions, 'revision'>) => {
    const report = await checkServer({ ...options, seed: 20_261_121, walks: 10, ...overrides });
    // The report contains the shortest sequence.
    const isBroken = report.findings.some(({ outcome }) => outcome === 'broken');
    expect(isBroken ? reportText(report) : '').toBe('');
    expect(report.notes).toEqual([]);
    return report;
  };

  test('keeps every invariant in every order of client moves', async () => {
    const progress: [done: number, total: number][] = [];
    const { findings } = await check({
      revision: '2025-11-25',
      progress: (done, total) => progress.push([done, total]),
    });
    // The total includes the random walks from the start, so that progress estimates are correct.
    const total = progress[0]?.[1] ?? 0;
    expect(total).toBeGreaterThan(30);
    expect(progress).toEqual(Array.from({ length: total + 1 }, (_, done) => [done, total]));
    // None of them holds only for lack of a test.
    const untried = findings.filter(({ outcome }) => outcome === 'untried');
    expect(untried.map(({ id }) => id)).toEqual([]);
  });

  test('keeps the stateless invariants in every order of client moves', async () => {
    const { findings } = await check({ revision: '2026-07-28' });
    const untried = findings.filter(({ outcome }) => outcome === 'untried');
    expect(untried.map(({ id }) => id)).toEqual([]);
  });

  test.for(revisions.slice(0, 3))(
    'keeps every invariant on random walks in %s',
    async (revision) => {
      const sequences = randomWalks(features, 10, seededRandom(7));
      const { findings } = await check({ revision, sequences });
      const tried = findings.filter(({ outcome }) => outcome === 'holds');
      expect(tried.length).toBeGreaterThan(20);
    },
  );
});
