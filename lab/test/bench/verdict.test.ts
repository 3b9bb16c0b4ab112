import { describe, expect, test } from 'vitest';
import { rowsOf } from '../../bench/results.ts';
import type { Measure } from '../../bench/measures/measure.ts';
import type { Outcome } from '../../bench/run.ts';
import { faultsOf } from '../../bench/verdict.ts';

const unread: Measure = {
  name: 'unread',
  metrics: [
    { key: 'unread.growth', title: 'growth', unit: 'MiB', isRatio: false },
    { key: 'unread.lost', title: 'lost', unit: 'lost', isRatio: false },
  ],
  run: () => Promise.reject(new Error('it is not run')),
};

const complete = { 'unread.growth': 1, 'unread.lost': 0 };

/** Results of one measure: a sample per server, or the reason there is none. */
function resultsOf(outcomes: { readonly [server: string]: Outcome['samples'][number] | string }) {
  const told = Object.entries(outcomes).map(([server, outcome]): Outcome => {
    const isFailure = typeof outcome === 'string';
    return {
      server,
      measure: 'unread',
      samples: isFailure ? [] : [outcome],
      failure: isFailure ? outcome : undefined,
    };
  });
  return {
    rows: rowsOf([unread], told),
    failures: told.flatMap(({ server, measure, failure }) =>
      failure === undefined ? [] : [{ server, measure, failure }],
    ),
  };
}

describe('verdict of a benchmark run', () => {
  const lenient = { isStrict: false, platform: 'linux' } as const;
  const strict = { ...lenient, isStrict: true };

  test('passes a run in which all responses of ours and the floor are right', () => {
    const results = resultsOf({ floor: complete, 'mcp-actors': complete });
    expect(faultsOf(results, lenient)).toEqual([]);
    expect(faultsOf(results, strict)).toEqual([]);
  });

  test('fails a run in which ours or the floor fails', () => {
    const results = resultsOf({ floor: complete, 'mcp-actors': 'a wrong answer' });
    expect(faultsOf(results, lenient)).toEqual(['mcp-actors failed unread: a wrong answer']);
  });

  test('counts failures of peers only if strict', () => {
    const results = resultsOf({ floor: complete, 'sdk-1': 'it hangs' });
    expect(faultsOf(results, lenient)).toEqual([]);
    expect(faultsOf(results, strict)).toEqual(['sdk-1 failed unread: it hangs']);
  });

  test('fails a run that lost a response', () => {
    const results = resultsOf({ 'mcp-actors': { ...complete, 'unread.lost': 2 } });
    expect(faultsOf(results, lenient)).toEqual(['mcp-actors lost 2 answers']);
  });

  test('fails a run that lacks a measure supported by the platform', () => {
    const results = resultsOf({ 'mcp-actors': { 'unread.lost': 0 } });
    expect(faultsOf(results, lenient)).toEqual(['mcp-actors has no unread.growth']);
    expect(faultsOf(results, { ...lenient, platform: 'darwin' })).toEqual([]);
  });

  test('ignores measures that only apply to other servers', () => {
    const told = [{ server: 'floor', measure: 'unread', applies: false, samples: [] }];
    const rows = rowsOf(
      [unread],
      told.map((outcome) => ({ ...outcome, failure: undefined })),
    );
    expect(faultsOf({ rows, failures: [] }, strict)).toEqual([]);
  });
});
