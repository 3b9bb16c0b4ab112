import { definePrompt, defineResource, defineResourceTemplate } from 'mcp-actors';
import type { McpServer } from 'mcp-actors';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { operate, tool } from './serving.ts';
import type { Serving } from './serving.ts';

const read = () => '';

interface PagedList {
  readonly method: string;
  /** The member of the result with the items, and the key of an item. */
  readonly member: string;
  readonly key: string;
  add(server: McpServer, n: number): void;
  remove(server: McpServer, n: number): void;
}

/** The current items of the last list's template. */
const listed = new Set<number>();

const listing = defineResourceTemplate({
  uriTemplate: 'listed://{n}',
  name: 'listed',
  list: () => [...listed].map((n) => ({ uri: `listed://${n}`, name: 'listed' })),
  read,
});

const lists: readonly PagedList[] = [
  {
    method: 'tools/list',
    member: 'tools',
    key: 'name',
    add: ({ tools }, n) => tools.add(tool(`item-${n}`, read)),
    remove: ({ tools }, n) => tools.remove(`item-${n}`),
  },
  {
    method: 'prompts/list',
    member: 'prompts',
    key: 'name',
    add: ({ prompts }, n) => prompts.add(definePrompt({ name: `item-${n}`, get: read })),
    remove: ({ prompts }, n) => prompts.remove(`item-${n}`),
  },
  {
    method: 'resources/templates/list',
    member: 'resourceTemplates',
    key: 'uriTemplate',
    add: ({ resourceTemplates }, n) =>
      resourceTemplates.add(
        defineResourceTemplate({ uriTemplate: `item://${n}/{a}`, name: 'item', read }),
      ),
    remove: ({ resourceTemplates }, n) => resourceTemplates.remove(`item://${n}/{a}`),
  },
  {
    method: 'resources/list',
    member: 'resources',
    key: 'uri',
    // Every third item is fixed, the others come from a template.
    add: ({ resources }, n) =>
      n % 3 === 0
        ? resources.add(defineResource({ uri: `item://${n}`, name: 'item', read }))
        : void listed.add(n),
    remove: ({ resources }, n) =>
      n % 3 === 0 ? void resources.remove(`item://${n}`) : void listed.delete(n),
  },
];

const none = { tools: [], prompts: [], resources: [], resourceTemplates: [] };

/** Number of an item, from its key. */
const numberIn = (key: string) => Number(/\d+/.exec(key)?.[0]);

async function page({ peer }: Pick<Serving, 'peer'>, list: PagedList, cursor?: string) {
  const result = await peer.ask(list.method, cursor === undefined ? {} : { cursor });
  const items = result[list.member] as readonly { readonly [key: string]: string }[];
  return {
    numbers: items.map((item) => numberIn(item[list.key] ?? '')),
    nextCursor: result['nextCursor'] as string | undefined,
  };
}

async function walk(
  serving: Pick<Serving, 'peer'>,
  list: PagedList,
  between = (_page: number) => {},
) {
  const pages: number[][] = [];
  let cursor: string | undefined;
  do {
    const { numbers, nextCursor } = await page(serving, list, cursor);
    pages.push(numbers);
    cursor = nextCursor;
    between(pages.length);
  } while (cursor !== undefined);
  return pages;
}

describe('a list', () => {
  describe.each(lists.map((list) => ({ ...list, list })))('of $method', ({ list }) => {
    const start = async (count: number, pageSize: number) => {
      listed.clear();
      const templates = list.method === 'resources/list' ? [listing] : [];
      const definition = { ...none, resourceTemplates: templates };
      const serving = await operate(definition, { limits: { pageSize } });
      for (let n = 0; n < count; n++) list.add(serving.server, n);
      return serving;
    };

    test('is paged, without a cursor on the last page [PAGE-01]', async () => {
      for (const [count, sizes] of [
        [0, [0]],
        [3, [3]],
        [6, [3, 3]],
        [7, [3, 3, 1]],
      ] as const) {
        const serving = await start(count, 3);
        const pages = await walk(serving, list);
        expect(pages.map(({ length }) => length)).toEqual(sizes);
        expect(new Set(pages.flat()).size).toBe(count);
      }
    });

    test('gives the same page for the same cursor [PAGE-02]', async () => {
      const serving = await start(9, 2);
      const { nextCursor } = await page(serving, list);
      expect(await page(serving, list, nextCursor)).toEqual(await page(serving, list, nextCursor));
    });

    test('rejects a cursor of another list, and an invalid one [TOOLS-07]', async () => {
      const serving = await start(9, 2);
      const other = lists.find(({ method }) => method !== list.method) ?? list;
      for (let n = 0; n < 9; n++) other.add(serving.server, n);
      const foreign = (await page(serving, other)).nextCursor;
      // Base64 decoding ignores blanks.
      const long = btoa(`${list.method}:1`) + ' '.repeat(256 * 1024);
      for (const cursor of [foreign, 'next', '', 7, {}, btoa(`${list.method}:x`), long]) {
        await expect(serving.peer.ask(list.method, { cursor })).rejects.toMatchObject({
          error: { code: -32602, message: expect.stringContaining('cursor') },
        });
      }
    });
  });
});

describe.each(lists)('$method', (list) => {
  test('skips and repeats no remaining item, whatever changes between pages [PAGE-02]', async () => {
    const change = fc.record({
      page: fc.integer({ min: 1, max: 12 }),
      isAddition: fc.boolean(),
      n: fc.nat({ max: 40 }),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.nat({ max: 25 }),
        fc.integer({ min: 1, max: 7 }),
        fc.array(change, { maxLength: 30 }),
        async (count, pageSize, changes) => {
          listed.clear();
          const templates = list.method === 'resources/list' ? [listing] : [];
          const definition = { ...none, resourceTemplates: templates };
          const serving = await operate(definition, { limits: { pageSize } });
          const { server, session } = serving;
          const present = new Set<number>();
          for (let n = 0; n < count; n++) {
            list.add(server, n);
            present.add(n);
          }
          const stayed = new Set(present);
          const pages = await walk(serving, list, (at) => {
            for (const { isAddition, n } of changes.filter((each) => each.page === at)) {
              if (present.has(n) === isAddition) continue;
              if (isAddition) {
                list.add(server, n);
                present.add(n);
              } else {
                list.remove(server, n);
                present.delete(n);
                stayed.delete(n);
              }
            }
          });
          const seen = pages.flat();
          for (const n of stayed) expect(seen.filter((each) => each === n)).toEqual([n]);
          await session[Symbol.asyncDispose]();
        },
      ),
      { numRuns: 60 },
    );
  });
});
