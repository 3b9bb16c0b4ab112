/** Checks that wait for their turn: whose comes next, and who leaves the line. */
import { describe, expect, test } from 'vitest';
import { Rechecks } from '../../../src/http/admission.ts';
import type { Authorizer } from '../../../src/http/auth/authorizer.ts';
import { CheckTurns, TooManyWaiting } from '../../../src/http/auth/turns.ts';
import { gate } from '../../../src/testing/index.ts';

/** Turns of which the only one is taken until the test says so. */
function taken(maxWaiting = 2) {
  const turns = new CheckTurns({ maxRunning: 1, maxWaiting });
  const held = gate();
  const done: string[] = [];
  const begin = (party: string, name: string, signal?: AbortSignal) =>
    turns.run(party, () => Promise.resolve(void done.push(name)), signal);
  return { held, done, begin, first: turns.run('first', () => held.pass()) };
}

describe('what waits for its turn', () => {
  test('comes after one of each other party, however much of its own waits', async () => {
    const { held, done, begin, first } = taken(3);
    const all = [begin('a', 'a1'), begin('a', 'a2'), begin('a', 'a3'), begin('b', 'b1')];
    held.release();
    await Promise.all([first, ...all]);
    expect(done).toEqual(['a1', 'b1', 'a2', 'a3']);
  });

  test('leaves the line when it is given up, and its place in it is free', async () => {
    const { held, done, begin, first } = taken();
    const leaving = new AbortController();
    const given = begin('a', 'a1', leaving.signal);
    const second = begin('a', 'a2');
    await expect(begin('a', 'refused')).rejects.toThrow(TooManyWaiting);
    leaving.abort(new Error('Given up'));
    await expect(given).rejects.toThrow('Given up');
    const third = begin('a', 'a3');
    held.release();
    await Promise.all([first, second, third]);
    expect(done).toEqual(['a2', 'a3']);
  });

  test('keeps no turn if it was the only one of its party', async () => {
    const { held, done, begin, first } = taken();
    const leaving = new AbortController();
    const given = begin('a', 'a1', leaving.signal);
    leaving.abort(new Error('Given up'));
    await expect(given).rejects.toThrow('Given up');
    const other = begin('b', 'b1');
    held.release();
    await Promise.all([first, other]);
    await begin('a', 'later');
    expect(done).toEqual(['b1', 'later']);
  });

  test('is not begun if it was given up before', async () => {
    const { held, done, begin, first } = taken();
    await expect(begin('a', 'a1', AbortSignal.abort(new Error('Before')))).rejects.toThrow(
      'Before',
    );
    held.release();
    await first;
    expect(done).toEqual([]);
  });
});

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
