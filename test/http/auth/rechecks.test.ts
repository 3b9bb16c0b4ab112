/** Tokens of streams that are checked again. */
import { expect, test } from 'vitest';
import { Rechecks } from '../../../src/http/admission.ts';
import type { Authorizer } from '../../../src/http/auth/authorizer.ts';
import { gate } from '../../../src/testing/index.ts';

test('the streams of one principal that are checked again leave the others their turn', async () => {
  const asked: unknown[] = [];
  const held = gate();
  const authenticate: Authorizer['authenticate'] = async ({ target }) => {
    asked.push(target);
    await held.pass();
    return { ok: false, status: 401, headers: {}, message: 'Refused' };
  };
  const authorizer = { authenticate, limits: { maxRechecks: 1 } } as unknown as Authorizer;
  const rechecks = new Rechecks(
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
