/** Contract of credential stores, as cases for any test runner. */
import type { CredentialStore } from '../../client/src/auth/credential-store.ts';
import type { ContractCase } from './contract.ts';
import { gate } from './gate.ts';
import { same } from './stores/contract.ts';

/** Several users of one store. */
export interface CredentialWorld {
  /** Opens the store for another connection or process. */
  open(): CredentialStore | Promise<CredentialStore>;
  /** Releases everything. */
  close?(): void | Promise<void>;
}

/** Creates an empty store for one test. */
export type OpenCredentialWorld = () => CredentialWorld | Promise<CredentialWorld>;

type Stores = readonly [one: CredentialStore, other: CredentialStore];

function withTwo(
  name: string,
  play: (...stores: Stores) => Promise<void>,
): ContractCase<OpenCredentialWorld> {
  return {
    name,
    check: async (openWorld) => {
      const world = await openWorld();
      try {
        await play(await world.open(), await world.open());
      } finally {
        await world.close?.();
      }
    },
  };
}

const keys = ['a', 'A', 'a/b', '../a', 'a b', 'ä', 'https://as.example.com/?x=1', ''];

/**
 * The contract of a store of a host's credentials.
 *
 * ```ts
 * describe('my store', () => {
 *   for (const { name, check } of credentialStoreContract) test(name, () => check(openWorld));
 * });
 * ```
 */
export const credentialStoreContract: readonly ContractCase<OpenCredentialWorld>[] = [
  withTwo('has nothing at first', async (one) => {
    same(await one.read('a'), undefined, 'what was never written');
    await one.remove('a');
  }),

  withTwo('gives back what was written last, to everybody', async (one, other) => {
    const value = { token: 'ä\u{1f600}"\n', at: 1.5, none: null, list: [{ a: false }] };
    await one.write('a', value);
    same(await one.read('a'), value, 'what was written');
    same(await other.read('a'), value, 'what the other reads');
    await other.write('a', { token: 'second' });
    same(await one.read('a'), { token: 'second' }, 'what the other has written');
  }),

  withTwo('keeps what it was given, whatever becomes of the object', async (one) => {
    const value = { list: ['a'] };
    await one.write('a', value);
    value.list.push('b');
    same(await one.read('a'), { list: ['a'] }, 'what was written');
  }),

  withTwo('forgets what is removed, for everybody', async (one, other) => {
    await one.write('a', { token: '1' });
    await other.write('b', { token: '2' });
    await other.remove('a');
    same(await one.read('a'), undefined, 'what was removed');
    same(await one.read('b'), { token: '2' }, 'what was not');
  }),

  withTwo('lists the keys of what it has, for everybody', async (one, other) => {
    same(await one.keys(), [], 'the keys at first');
    for (const key of keys) await one.write(key, {});
    await other.remove('a');
    const left = keys.filter((key) => key !== 'a');
    same((await other.keys()).toSorted(), left.toSorted(), 'the keys');
    // A lock is not a document.
    await one.exclusive('c', async () => {
      same((await other.keys()).length, left.length, 'how many there are meanwhile');
    });
  }),

  withTwo('tells any two keys apart', async (one, other) => {
    for (const [n, key] of keys.entries()) await one.write(key, { n });
    for (const [n, key] of keys.entries()) same(await other.read(key), { n }, `that of "${key}"`);
  }),

  withTwo('takes a document of 200,000 characters', async (one, other) => {
    const value = { token: 'x'.repeat(200_000) };
    await one.write('a', value);
    same(await other.read('a'), value, 'the document');
  }),

  withTwo('shows no half of a document, however many write it', async (one, other) => {
    const documents = Array.from({ length: 20 }, (_, n) => ({ n, text: `${n} `.repeat(5000) }));
    await one.write('a', documents[0] ?? {});
    const writing = documents.map((value, n) => (n % 2 ? one : other).write('a', value));
    const read = await Promise.all(documents.map((_, n) => (n % 2 ? other : one).read('a')));
    await Promise.all(writing);
    for (const value of read) same(value, documents[value?.['n'] as number], 'a document');
  }),

  withTwo('does work for a key one at a time', async (one, other) => {
    const [first, order] = [gate(), [] as string[]];
    const work = (name: string) => async () => {
      order.push(`${name} begins`);
      if (name === 'first') await first.pass();
      order.push(`${name} ends`);
      return name;
    };
    const all = [one.exclusive('a', work('first'))];
    await first.arrived();
    all.push(other.exclusive('a', work('second')));
    // Work for another key does not wait.
    same(await other.exclusive('b', () => Promise.resolve('done')), 'done', 'work for another key');
    first.release();
    same(await Promise.all(all), ['first', 'second'], 'what it gives');
    same(order, ['first begins', 'first ends', 'second begins', 'second ends'], 'the order');
  }),

  withTwo('goes on after work that fails', async (one, other) => {
    const failure = one.exclusive('a', () => Promise.reject(new Error('no')));
    const next = other.exclusive('a', () => Promise.resolve('next'));
    const said = await failure.catch((error: unknown) => (error as Error).message);
    same(said, 'no', 'what the work has thrown');
    same(await next, 'next', 'what comes after it');
  }),

  withTwo('does no work of those who have given up', async (one, other) => {
    const [held, done] = [gate(), [] as string[]];
    const first = one.exclusive('a', () => held.pass());
    await held.arrived();
    const giving = new AbortController();
    const given = other.exclusive('a', async () => void done.push('given up'), giving.signal);
    const last = one.exclusive('a', async () => void done.push('last'));
    giving.abort(new Error('enough'));
    const said = await given.catch((error: unknown) => (error as Error).message);
    same(said, 'enough', 'what it ends with');
    same(done, [], 'the work done while the first one holds it');
    held.release();
    await Promise.all([first, last]);
    same(done, ['last'], 'the work done');
  }),
];
