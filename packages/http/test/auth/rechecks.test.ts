/** Rechecks of the tokens of open streams. */
import { expect, test } from 'vitest';
import { TokenRechecks, RecheckedToken } from '../../src/token-validity.ts';
import type { Authorizer } from '../../src/auth/authorizer.ts';
import { gate, flush } from '../../../testing/src/index.ts';

test('alternates between principals when rechecking streams', async () => {
  const asked: unknown[] = [];
  const held = gate();
  const authenticate: Authorizer['authenticate'] = async ({ target }) => {
    asked.push(target);
    await held.pass();
    return { ok: false, status: 401, headers: {}, message: 'Refused' };
  };
  const authorizer = { authenticate, limits: { maxRechecks: 1 } } as unknown as Authorizer;
  const rechecks = new TokenRechecks(
    authorizer,
    () => 0,
    () => {},
  );
  const all = ['a', 'a', 'a', 'b'].map((id) => {
    const principal = { id, subject: id, scopes: [], claims: {} };
    return rechecks.recheck({ principal, target: id, remoteAddress: undefined, header: () => '' });
  });
  held.release();
  await Promise.all(all);
  expect(asked).toEqual(['a', 'a', 'b', 'a']);
});

test.each([
  [60_000, [0, 1, 1, 2]],
  [0, [0, 0, 0, 0]],
])('rechecks a token every %d ms, and never if that is 0', async (recheckMs, counts) => {
  const request = { target: '/', remoteAddress: undefined, header: () => '' };
  const principal = { id: 'ada', subject: 'ada', scopes: [], claims: {} };
  let [now, asked] = [1_000_000, 0];
  const authenticate: Authorizer['authenticate'] = async () => {
    asked++;
    return { ok: true, principal, tokens: undefined, expiresInMs: undefined };
  };
  const limits = { maxRechecks: 1, recheckMs, uncheckedTimeoutMs: 300_000 };
  const authorizer = { authenticate, limits } as unknown as Authorizer;
  const rechecks = new TokenRechecks(
    authorizer,
    () => now,
    () => {},
  );
  const token = new RecheckedToken({ ...request, principal }, undefined, rechecks);
  const seen = [];
  for (const passed of [59_999, 1, 59_999, 1]) {
    now += passed;
    // A call during a recheck starts no other one.
    expect([token.endReason(now), token.endReason(now)]).toEqual([undefined, undefined]);
    await flush();
    seen.push(asked);
  }
  expect(seen).toEqual(counts);
});

test('ends a stream at the millisecond its token expires', () => {
  const authorizer = { limits: { maxRechecks: 1, recheckMs: 0 } } as unknown as Authorizer;
  const rechecks = new TokenRechecks(
    authorizer,
    () => 1_000_000,
    () => {},
  );
  const request = { target: '/', remoteAddress: undefined, header: () => '' };
  const token = new RecheckedToken(request, 1000, rechecks);
  expect([1_000_999, 1_001_000].map((now) => token.endReason(now))).toEqual([undefined, 'expired']);
});
