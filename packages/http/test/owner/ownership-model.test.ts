/**
 * Explores the ownership protocol in every order of two nodes, one client and one fault, up to a
 * state limit, which is higher in long runs; `EXPLORE=all` removes it.
 */
import { describe, expect, test } from 'vitest';
import type { TestContext } from 'vitest';
import { inLongRun } from '../../../../test/tooling/long-run.ts';
import { DirectoryRules } from '../../../nodes/test/memory-stores.ts';
import { explore } from './ownership-model.ts';
import type { Beginning, Fault } from './ownership-model.ts';

const isAll = process.env['EXPLORE'] === 'all';

/** State limits: about a second per fault, a few in long runs. */
const mostOf: { readonly [F in Fault]?: number } = inLongRun(
  { stopped: 8000, killed: 8000, emptied: 700, older: 700, slow: 700 },
  { none: 700, stopped: 1500, killed: 1500, emptied: 700, older: 700, slow: 700 },
);

describe('ownership keeps acknowledged changes, answers everything and revives nothing', () => {
  test.each<[string, Fault, Beginning?]>([
    ['nothing fails', 'none'],
    ['the store loses its data', 'emptied'],
    ['the store is rolled back', 'older'],
    ['the store loses its data after a handover', 'emptied', 'given'],
    ['the store is rolled back to the time of a handover', 'older', 'given'],
    ['a node is stopped for a while', 'stopped'],
    ['a node is killed', 'killed'],
    ['the store is slow once, or a reply is lost', 'slow'],
  ])('if %s', async (_, fault, beginning) => {
    const most = isAll ? Infinity : mostOf[fault];
    const { states, violations } = await explore(fault, most, undefined, beginning);
    expect(violations).toEqual([]);
    expect(states).toBeGreaterThan(100);
  });
});

/** For violations found only after tens of thousands of states. */
const onlyInLongRun = (context: TestContext): void =>
  context.skip(inLongRun(false, true), 'explores ten thousand states: npm run lab -- long does');

describe('the exploration detects', () => {
  test('a claim that does not wait for the restore of lost data', async () => {
    const { violations } = await explore('older', 5000, ({ rules }) =>
      Object.defineProperty(rules, 'age', {
        get: () => ({ ...rules.store, ageMs: Infinity }),
      }),
    );
    expect(violations).not.toEqual([]);
  });

  test('a store without fences', async (context) => {
    onlyInLongRun(context);
    const { violations } = await explore('stopped', 40_000, ({ rules, log }) => {
      const fenceOf = () => rules.data.records.get('s1')?.fence ?? 0;
      const { write } = rules;
      rules.write = (at, change) => write.call(rules, { ...at, fence: fenceOf() }, change);
      const { append } = log;
      log.append = (_, entries) => append.call(log, { fence: fenceOf() }, entries);
    });
    expect(violations).not.toEqual([]);
  });

  test('a log that confuses a lost session with one of another node', async (context) => {
    onlyInLongRun(context);
    const { violations } = await explore('emptied', 40_000, ({ log }) => {
      const { append } = log;
      log.append = (at, entries) => {
        const written = append.call(log, at, entries);
        return written === 'behind' ? 'fenced' : written;
      };
    });
    expect(violations).not.toEqual([]);
  });

  test('a store that declares a live node dead', async () => {
    const { violations } = await explore('none', 20_000, ({ rules }) => {
      rules.address = () => undefined;
      rules.lease = function lease(node, how, request) {
        const asked = how === 'prolong' ? 'new' : how;
        return DirectoryRules.prototype.lease.call(this, node, asked, request);
      };
    });
    expect(violations).not.toEqual([]);
  });
});
