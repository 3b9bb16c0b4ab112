import { beforeAll, describe, expect, test } from 'vitest';
import { requirements } from '../requirements.ts';
import { exemptions, readClauses } from './clauses.ts';
import type { Clause } from './clauses.ts';

const isDemand = (text: string) => /\b(MUST|SHOULD|SHALL|REQUIRED|RECOMMENDED)\b/.test(text);

/** The pages of each revision that concern a server and demand something, and the rows that no word in capitals demands there. */
const lists = [
  {
    revision: '2025-11-25',
    pages: [
      'basic/index',
      'basic/lifecycle',
      'basic/transports',
      'basic/utilities/cancellation',
      'basic/utilities/ping',
      'basic/utilities/progress',
      'basic/utilities/tasks',
      'client/elicitation',
      'client/roots',
      'client/sampling',
      'server/prompts',
      'server/resources',
      'server/tools',
      'server/utilities/completion',
      'server/utilities/logging',
      'server/utilities/pagination',
    ],
    undemanded: [
      'BASE-02',
      'BASE-03',
      'BASE-09',
      'CANCEL-02',
      'CANCEL-08',
      'COMPL-04',
      'ELICIT-03',
      'ELICIT-04',
      'ELICIT-06',
      'LIFE-05',
      'LIFE-15',
      'LOG-02',
      'PAGE-01',
      'PING-02',
      'PING-04',
      'PROGRESS-07',
      'PROMPT-02',
      'RES-03',
      'RES-05',
      'RES-07',
      'ROOTS-02',
      'ROOTS-10',
      'ROOTS-12',
      'ROOTS-18',
      'ROOTS-20',
      'SAMPLE-01',
      'TASKS-17',
      'TOOLS-01',
      'TOOLS-03',
      'TOOLS-09',
      'TOOLS-10',
    ],
  },
  {
    revision: '2026-07-28',
    pages: [
      'basic/index',
      'basic/versioning',
      'basic/patterns/index',
      'basic/patterns/mrtr',
      'basic/patterns/cancellation',
      'basic/patterns/progress',
      'basic/patterns/subscriptions',
      'basic/transports/index',
      'basic/transports/stdio',
      'basic/transports/streamable-http',
      'server/discover',
      'server/tools',
      'server/resources',
      'server/prompts',
      'server/utilities/caching',
      'server/utilities/completion',
      'server/utilities/logging',
      'server/utilities/pagination',
      'client/elicitation',
      'client/roots',
      'client/sampling',
      'deprecated',
      'changelog',
      'index',
    ],
    undemanded: ['ENV-07', 'ERA-03', 'ERA-04', 'LISTEN-03'],
  },
] as const satisfies readonly {
  readonly revision: string;
  readonly pages: readonly string[];
  readonly undemanded: readonly string[];
}[];

/** The page on authorization has no list of sentences: most of them are for the official client. */
const unlisted = /, basic\/authorization,/;

describe.each(lists)('normative sentences of $revision', ({ revision, pages, undemanded }) => {
  let clauses: readonly Clause[];

  beforeAll(async () => {
    clauses = await readClauses(revision);
  });

  test('come from every normative page that concerns a server', () => {
    expect(new Set(clauses.map(({ page }) => page))).toEqual(new Set(pages));
  });

  test('contain a requirement or belong to one that does', () => {
    const idle = clauses.filter(({ quote, under }) => !isDemand(quote) && !isDemand(under ?? ''));
    expect(idle).toEqual([]);
  });

  test('cite existing rows or a reason for having none', () => {
    const ids = new Set(requirements.map(({ id }) => id));
    const wrong = clauses.filter(({ covered }) => {
      const isExempt = covered.length === 1 && exemptions.some((reason) => reason === covered[0]);
      return !isExempt && (covered.length === 0 || !covered.every((id) => ids.has(id)));
    });
    expect(wrong).toEqual([]);
  });

  test('that introduce a list are followed by one', () => {
    const leads = clauses.filter(({ covered }) => covered.includes('below'));
    const bare = leads.filter(({ quote }) => clauses.every(({ under }) => under !== quote));
    expect(leads).not.toEqual([]);
    expect(bare).toEqual([]);
  });

  test('omit only the rows without a normative keyword', () => {
    const named = new Set(clauses.flatMap(({ covered }) => covered));
    const without = requirements.filter(
      ({ id, source }) =>
        source.startsWith(`MCP ${revision}`) && !unlisted.test(source) && !named.has(id),
    );
    expect(without.map(({ id }) => id)).toEqual(undemanded);
  });
});
