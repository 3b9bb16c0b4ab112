/** Each reported MUST and SHOULD is quoted from the specification with that word. */
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

test('every revision has demands', () => {
  expect(new Set(demands.map(({ revision }) => revision)).size).toBe(5);
  expect(demands.length).toBeGreaterThan(200);
});

test.each(['MUST', 'SHOULD'] as const)('every %s quotes a sentence with that word', (demand) => {
  const wordless = demands
    .filter((each) => each.demand === demand && !words[demand].test(each.clause.quote))
    .map(({ id, revision, clause }) => `${id}, ${revision}: ${clause.quote}`);
  expect(wordless).toEqual([]);
});

test('every demand names the page and heading of its quotation', () => {
  for (const { id, clause } of demands) {
    expect(clause.page, id).toMatch(/^(?:JSON-RPC 2\.0|[a-z]+(?:[/-][a-z-]+)*)$/);
    expect(clause.heading, id).not.toBe('');
  }
});
