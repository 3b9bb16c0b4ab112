/** What a report says that the specification demands, it demands in the words that are quoted. */
import { expect, test } from 'vitest';
import { hasStreamableHttp } from '../src/invariants/http.ts';
import { invariantsOf } from '../src/invariants/tally.ts';
import { handshakeVersions, statelessVersions } from '../../../src/protocol/dialects/registry.ts';

const words = {
  MUST: /\b(?:MUST|SHALL|REQUIRED)\b/,
  SHOULD: /\b(?:SHOULD|RECOMMENDED)\b/,
} as const;

const demands = [...handshakeVersions, ...statelessVersions].flatMap((revision) =>
  (['stdio', 'http'] as const)
    .filter((transport) => transport === 'stdio' || hasStreamableHttp(revision))
    .flatMap((transport) =>
      invariantsOf(revision, transport).flatMap((invariant) => {
        const demanded = invariant.demanded(revision);
        return demanded ? [{ id: invariant.id, revision, transport, ...demanded }] : [];
      }),
    ),
);

test('there are demands of each revision', () => {
  expect(new Set(demands.map(({ revision }) => revision)).size).toBe(5);
  expect(demands.length).toBeGreaterThan(200);
});

test.each(['MUST', 'SHOULD'] as const)('each %s quotes a sentence with that word', (demand) => {
  const wordless = demands
    .filter((each) => each.demand === demand && !words[demand].test(each.clause.quote))
    .map(({ id, revision, clause }) => `${id}, ${revision}: ${clause.quote}`);
  expect(wordless).toEqual([]);
});

test('each demand names the page and the heading of its words', () => {
  for (const { id, clause } of demands) {
    expect(clause.page, id).toMatch(/^(?:JSON-RPC 2\.0|[a-z]+(?:[/-][a-z-]+)*)$/);
    expect(clause.heading, id).not.toBe('');
  }
});
