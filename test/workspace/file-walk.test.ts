import fc from 'fast-check';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { FilePages, walkFiles } from '../../src/workspace/search/file-walk.ts';
import type { FilePage } from '../../src/workspace/search/file-walk.ts';
import { comparePathBytes } from '../../src/workspace/search/file-walk.ts';

interface Directory {
  /** In the order of a walk. */
  readonly paths: readonly Buffer[];
  /** Fires the deadline after so many records. */
  readonly endsAfter?: number;
}

/** A listing of a directory that stands still, page by page, with a count of what it costs. */
function listing({ paths, endsAfter }: Directory) {
  const pages = new FilePages();
  const cost = { walks: 0, records: 0 };
  const deadline = new AbortController();
  async function* records() {
    cost.walks += 1;
    for (const [index, path] of paths.entries()) {
      if (index === endsAfter) deadline.abort();
      cost.records += 1;
      yield { bytes: Buffer.concat([Buffer.from('./'), path]), cut: false };
    }
  }
  const page = async (after: Uint8Array | undefined, limit: number, query = 'all') =>
    await pages.page(query, after, limit, async () => {
      const run = { records: records(), deadline: deadline.signal, after, limit };
      return await walkFiles({ ...run, accepts: () => true, onFile: () => {} });
    });
  return { cost, page };
}

const numbered = (count: number, name = 'file') =>
  Array.from({ length: count }, (_, index) =>
    Buffer.from(`${name}-${String(index).padStart(6, '0')}`),
  );

async function allPages(page: ReturnType<typeof listing>['page'], limit: number) {
  const all: FilePage[] = [];
  let after: Uint8Array | undefined;
  do {
    const next = await page(after, limit);
    all.push(next);
    after = next.next;
  } while (after !== undefined);
  return all;
}

test.each([10, 100, 3333])(
  'all pages of %i files cost a small multiple of one walk',
  async (limit) => {
    const paths = numbered(20_000);
    const { cost, page } = listing({ paths });
    const all = await allPages(page, limit);
    expect(all.flatMap(({ files }) => files)).toEqual(paths.map(String));
    expect(all).toHaveLength(Math.ceil(paths.length / limit));
    expect(cost.records).toBeLessThan(6 * paths.length);
    expect(cost.walks).toBeLessThan(20);
  },
);

test('pages join to the whole list, names that are not UTF-8 are counted, and no page is too long', async () => {
  const name = fc.uint8Array({ minLength: 1, maxLength: 3 }).map((bytes) => Buffer.from(bytes));
  await fc.assert(
    fc.asyncProperty(fc.array(name), fc.integer({ min: 1, max: 7 }), async (names, limit) => {
      const paths = [...new Map(names.map((path) => [path.toString('hex'), path])).values()];
      paths.sort(comparePathBytes);
      const all = await allPages(listing({ paths }).page, limit);
      const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');
      for (const { files, unnamed } of all) {
        expect(files.length + unnamed.length).toBeLessThanOrEqual(limit);
      }
      const listed = all.flatMap(({ files, unnamed }) => [
        ...files.map((file) => hex(Buffer.from(file))),
        ...unnamed.map(hex),
      ]);
      expect(listed.toSorted()).toEqual(paths.map(hex).toSorted());
      for (const bytes of all.flatMap(({ unnamed }) => unnamed)) {
        expect(hex(Buffer.from(Buffer.from(bytes).toString()))).not.toBe(hex(bytes));
      }
    }),
  );
});

test('a page of long paths is bounded in characters, and the next one goes on behind it', async () => {
  const paths = numbered(2000, 'x'.repeat(4000));
  const { cost, page } = listing({ paths });
  const all = await allPages(page, 2000);
  expect(all.flatMap(({ files }) => files)).toEqual(paths.map(String));
  for (const { files } of all) expect(files.join('').length).toBeLessThanOrEqual(200_000);
  expect(all.length).toBeLessThanOrEqual(Math.ceil(2000 / 49));
  expect(cost.walks).toBeLessThanOrEqual(2);
});

test('a path that is longer than a page has a page of its own', async () => {
  const paths = ['a', 'b', 'c'].map((name) => Buffer.from(name.repeat(250_000)));
  const all = await allPages(listing({ paths }).page, 10);
  expect(all.map(({ files }) => files.map((file) => file[0]))).toEqual([['a'], ['b'], ['c']]);
});

describe('what was seen ahead', () => {
  test('is for the listing that saw it', async () => {
    const { cost, page } = listing({ paths: numbered(100) });
    const { next } = await page(undefined, 10);
    await page(next, 10, 'another');
    expect(cost.walks).toBe(2);
  });

  test('is not used for a page before it', async () => {
    const { cost, page } = listing({ paths: numbered(100) });
    const pages = [await page(undefined, 10)];
    while (cost.walks < 3) pages.push(await page(pages.at(-1)?.next, 10));
    expect(await page(pages[0]?.next, 10)).toEqual(pages[1]);
    expect(cost.walks).toBe(4);
  });

  test('is forgotten after a minute', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const { cost, page } = listing({ paths: numbered(100) });
    const { next } = await page(undefined, 10);
    vi.advanceTimersByTime(59_999);
    await page(next, 10);
    expect(cost.walks).toBe(1);
    vi.advanceTimersByTime(1);
    await page(next, 10);
    expect(cost.walks).toBe(2);
  });

  test('has a bound', async () => {
    const paths = numbered(30_000, 'x'.repeat(4000));
    const { cost, page } = listing({ paths });
    await page(paths[20_000], 10);
    // Eight MiB of such paths are 2,095.
    expect(cost.records).toBeLessThan(20_000 + 2_200);
  });
});

describe('at the deadline', () => {
  test('a listing says how far it has come, and leaves out what may be half a path', async () => {
    const paths = numbered(100);
    const { page } = listing({ paths, endsAfter: 42 });
    const { files, next } = await page(undefined, 60);
    expect(files).toEqual(paths.slice(0, 42).map(String));
    expect(String(next)).toBe(files.at(-1));
  });

  test('a listing that has not reached its cursor stays there', async () => {
    const paths = numbered(100);
    const { page } = listing({ paths, endsAfter: 42 });
    expect(await page(paths[50], 60)).toEqual({ files: [], unnamed: [], next: paths[50] });
  });
});
