/**
 * Contract of the stores shared by the nodes of an HTTP endpoint: directory, log and broadcasts.
 */
import { newNodeName } from '../../../http/src/nodes/stores.ts';
import type {
  BroadcastListener,
  LeaseRequest,
  StreamEvent,
  SessionRecord,
  StoreLimits,
  Stores,
} from '../../../http/src/nodes/stores.ts';
import type { ContractCase } from '../contract.ts';

/** Several nodes that share one store. */
export interface StoresWorld {
  /** Starts a node whose leases last less than a second. */
  start(): Promise<Stores>;
  /** Advances the store's time. */
  elapse(ms: number): Promise<void>;
  /** Closes all nodes and the shared store. */
  close(): Promise<void>;
}

/** Creates a world with these limits and defaults for the rest. */
export type OpenStoresWorld = (limits?: Partial<StoreLimits>) => Promise<StoresWorld>;

/** A behaviour that every store must have. */
export type StoresCase = ContractCase<OpenStoresWorld>;

/** Fixture of a case: two nodes with a lease and a subscription each. */
interface Play {
  readonly a: ContractNode;
  readonly b: ContractNode;
  readonly world: StoresWorld;
}

interface ContractNode extends Stores {
  readonly name: string;
  /** End of its lease, ms of the store's clock. */
  readonly untilMs: number;
  readonly heard: Heard;
  /** Its lease request. */
  readonly request: LeaseRequest;
}

/** Broadcasts received by a node. */
class Heard implements BroadcastListener {
  readonly texts: string[] = [];
  #waiting: (() => void) | undefined = undefined;

  received(text: string): void {
    this.texts.push(text);
    this.#waiting?.();
  }

  missed(): void {}

  async count(texts: number): Promise<readonly string[]> {
    while (this.texts.length < texts) {
      await new Promise<void>((resolve) => {
        this.#waiting = resolve;
      });
    }
    return this.texts;
  }
}

async function join(world: StoresWorld): Promise<ContractNode> {
  const stores = await world.start();
  const name = newNodeName();
  const heard = new Heard();
  await stores.broadcasts.subscribe(heard);
  const request = {
    address: { url: `http://${name}.example/mcp`, protocol: 1 },
    removedSinceMs: 0,
  };
  const { untilMs } = await stores.directory.lease(name, 'new', request);
  return { ...stores, name, untilMs, heard, request };
}

function storesCase(
  name: string,
  play: (play: Play) => Promise<void>,
  limits?: Partial<StoreLimits>,
): StoresCase {
  return {
    name,
    check: async (open) => {
      const world = await open(limits);
      try {
        await play({ a: await join(world), b: await join(world), world });
      } finally {
        await world.close();
      }
    },
  };
}

const recordOf = (owner: ContractNode, more: Partial<SessionRecord> = {}): SessionRecord => ({
  id: 's1',
  principal: 'anna',
  owner: owner.name,
  fence: 1,
  revision: 1,
  facts: { initialize: '{"capabilities":{}}' },
  ...more,
});

const put = (owner: ContractNode, more?: Partial<SessionRecord>) =>
  owner.directory.put(recordOf(owner, more), owner.untilMs);

/** Claims another node's session as if its lease had expired. */
async function claim(node: ContractNode, id = 's1'): Promise<SessionRecord | undefined> {
  const { record, store } = await node.directory.find(id);
  if (!record) return undefined;
  return node.directory.claim(id, node.name, { fence: record.fence, store: store.name });
}

const directoryCases: readonly StoresCase[] = [
  storesCase('a session is found at every node, with its owner', async ({ a, b }) => {
    same(await put(a), true, 'what became of it');
    const { record, address } = await b.directory.find('s1');
    const { principal, owner, fence } = record ?? {};
    same([principal, owner, fence], ['anna', a.name, 1], 'what is found');
    same(address, a.request.address, 'where its owner is');
    for (const id of ['s2', '', '{x}', 'x'.repeat(5000)]) {
      same((await b.directory.find(id)).record, undefined, `the session ${id.slice(0, 9)}`);
    }
  }),
  storesCase('a lease is over in time, and is never prolonged after that', async (play) => {
    const { a, b, world } = play;
    await put(a);
    same((await a.directory.lease(a.name, 'prolong', a.request)).isHeld, true, 'whether it lasts');
    await world.elapse(a.leaseMs);
    same((await b.directory.find('s1')).address, undefined, 'whether it lasts at its end');
    same(
      (await a.directory.lease(a.name, 'prolong', a.request)).isHeld,
      false,
      'whether it comes back',
    );
    same(await put(a, { revision: 2 }), false, 'what its node stores after that');
  }),
  storesCase('a lease ends at once if its node leaves', async ({ a, b }) => {
    await put(a);
    await a.directory.leave(a.name);
    same((await b.directory.find('s1')).address, undefined, 'whether it lasts');
  }),
  storesCase(
    'a lease that the store has lost is taken again only in time',
    async ({ a, b, world }) => {
      await put(a);
      await world.elapse(a.leaseMs);
      const late = await a.directory.lease(a.name, { reviveUntilMs: a.untilMs }, a.request);
      same([late.isHeld, (await b.directory.find('s1')).address], [false, undefined], 'a late one');
      const reviveUntilMs = late.untilMs + 60_000;
      const revived = await a.directory.lease(a.name, { reviveUntilMs }, a.request);
      same(revived.isHeld, true, 'one in time');
    },
  ),
  storesCase(
    'one node alone claims a session, with a higher fence and all that is known',
    async (play) => {
      const { a, b } = play;
      await put(a);
      const { store } = await b.directory.find('s1');
      const claims = await Promise.all(
        [a, b].map((node) =>
          node.directory.claim('s1', node.name, { fence: 1, store: store.name }),
        ),
      );
      const [claimed, ...others] = claims.flatMap((each) => each ?? []);
      same(others, [], 'the others');
      same((claimed?.fence ?? 0) > 1, true, 'whether the fence is higher');
      same(claimed?.facts, recordOf(a).facts, 'what its client has said');
      same((await a.directory.find('s1')).record?.owner, claimed?.owner, 'its owner');
    },
  ),
  storesCase('a claim fails that was read from other data', async ({ a, b }) => {
    await put(a);
    const read = { fence: 1, store: 'another' };
    same(await b.directory.claim('s1', b.name, read), undefined, 'the claim');
    same(await b.directory.claim('none', b.name, read), undefined, 'one of nothing');
  }),
  storesCase('who has lost a session writes nothing', async ({ a, b }) => {
    await put(a);
    const claimed = await claim(b);
    const change = { slot: 'logLevel', text: '{"level":"info"}' };
    same(
      await a.directory.write({ id: 's1', fence: 1, revision: 2 }, change),
      'fenced',
      'a change',
    );
    same(await put(a, { revision: 9 }), false, 'all of it');
    same(await a.log.append({ id: 's1', fence: 1 }, [said(1)]), 'fenced', 'an event');
    same(await a.directory.remove('s1', 1), false, 'its end');
    same((await b.directory.find('s1')).record?.fence, claimed?.fence, 'the fence after all that');
  }),
  storesCase(
    'the owner of a session puts it back over what was known of it before its claim',
    async (play) => {
      const { a, b } = play;
      await put(a);
      const claimed = await claim(b);
      const fence = claimed?.fence ?? 0;
      // As if the store had lost its data, and the node before had put back what it knows.
      const low = { id: 's2', fence: 1 };
      await put(a, low);
      const change = { slot: 'logLevel', text: '{"level":"info"}' };
      const at = { id: 's2', fence };
      same(await b.directory.write({ ...at, revision: 2 }, change), 'behind', 'a change');
      same(await b.directory.write({ ...at, revision: 1 }), 'behind', 'a sign of use');
      same(await b.log.append(at, [said(1)]), 'behind', 'an event');
      same(await b.log.put(at, [said(1)]), 'behind', 'all events');
      same(await put(b, at), true, 'all of it');
      same(await b.log.append(at, [said(1)]), 'written', 'an event after that');
    },
  ),
  storesCase('changes are kept by slots, and one that is missing is noticed', async ({ a, b }) => {
    await put(a);
    const write = (revision: number, slot: string, text?: string) =>
      a.directory.write({ id: 's1', fence: 1, revision }, { slot, text });
    same(await write(2, 'logLevel', '1'), 'written', 'the first');
    same(await write(3, 'logLevel', '2'), 'written', 'the second');
    same(await write(4, 'initialize'), 'written', 'one that empties a slot');
    same(await write(4, 'initialize'), 'written', 'the same once more');
    same(await write(6, 'later', '3'), 'behind', 'one after a missing one');
    same(await a.directory.write({ id: 's1', fence: 1, revision: 4 }), 'written', 'a sign of use');
    same(await a.directory.write({ id: 's1', fence: 1, revision: 6 }), 'behind', 'one too late');
    same(await a.directory.write({ id: 's2', fence: 1, revision: 1 }), 'behind', 'one of nothing');
    same((await claim(b))?.facts, { logLevel: '2' }, 'what is known');
  }),
  storesCase(
    'what is put back takes the place of what is older, and of nothing else',
    async ({ a, b }) => {
      await put(a, { revision: 3, facts: { logLevel: '3' } });
      same(await put(a, { revision: 2, facts: { logLevel: '2' } }), true, 'an older revision');
      same(await put(a, { revision: 4, facts: { other: '4' } }), true, 'a younger one');
      same((await claim(b))?.facts, { other: '4' }, 'what is known');
      same(await put(b, { fence: 1, revision: 9 }), false, 'a lower fence');
    },
  ),
  storesCase('a session that was removed is gone for all, with its log', async ({ a, b }) => {
    await put(a);
    await a.log.append({ id: 's1', fence: 1 }, [said(1)]);
    same(await a.directory.remove('s1', 1), true, 'whether it is removed');
    same((await b.directory.find('s1')).record, undefined, 'what is found');
    same(await b.log.read('s1'), [], 'what it has said');
    same(await a.log.append({ id: 's1', fence: 1 }, [said(2)]), 'behind', 'what it says later');
    same(await a.directory.remove('s1', 1), true, 'whether it is removed once more');
  }),
  storesCase('a session that was removed is not found, though it is put back', async ({ a, b }) => {
    await put(a);
    await put(a, { id: 's2' });
    await a.directory.remove('s1', 1);
    await put(b);
    same((await b.directory.find('s1')).record, undefined, 'what is found');
    const { removed } = await b.directory.lease(b.name, 'prolong', b.request);
    same(removed, ['s1'], 'what a node learns that renews its lease');
    await b.directory.rememberRemoved(['s2']);
    same((await a.directory.find('s2')).record, undefined, 'what another node remembers');
  }),
  storesCase('a node is found by its name, for as long as its lease lasts', async ({ a, b }) => {
    same((await b.directory.node(a.name)).address, a.request.address, 'where it is');
    for (const name of ['', newNodeName(), '{x}', 'x'.repeat(5000)]) {
      same((await b.directory.node(name)).address, undefined, `the node ${name.slice(0, 9)}`);
    }
    await a.directory.leave(a.name);
    same((await b.directory.node(a.name)).address, undefined, 'where it is once it has left');
  }),
  storesCase('all nodes get the same secret', async ({ a, b }) => {
    const made = await a.directory.secret('one');
    same([made, await b.directory.secret('two')], ['one', 'one'], 'the secrets');
  }),
  storesCase(
    'a session expires that is not used',
    async ({ a, b, world }) => {
      await put(a);
      await put(a, { id: 's2' });
      await world.elapse(1000);
      await a.directory.write({ id: 's2', fence: 1, revision: 1 });
      await world.elapse(1000);
      same((await b.directory.find('s1')).record, undefined, 'the one');
      same((await b.directory.find('s2')).record?.fence, 1, 'the one that was used');
    },
    { idleMs: 1200 },
  ),
];

const said = (number: number, more: Partial<StreamEvent> = {}): StreamEvent => ({
  stream: '1.1',
  number,
  text: `text ${number}`,
  ...more,
});

const numbers = (entries: readonly StreamEvent[]) => entries.map(({ number }) => number);

const logCases: readonly StoresCase[] = [
  storesCase('what was said is read in its order, at every node', async ({ a, b }) => {
    await put(a);
    const entries = [
      said(1, { text: 'grüße\n"' }),
      said(2),
      said(3, { text: '', end: 'answered' }),
    ];
    await Promise.all([
      a.log.append({ id: 's1', fence: 1 }, entries.slice(0, 2)),
      a.log.append({ id: 's1', fence: 1 }, entries.slice(2)),
    ]);
    const kept = await b.log.read('s1');
    same(
      kept.map(({ ageMs: _, ...entry }) => entry),
      entries,
      'what is kept',
    );
    same(
      kept.every(({ ageMs }) => ageMs >= 0 && ageMs < 60_000),
      true,
      'their ages',
    );
    same(await b.log.read('s2'), [], 'of another session');
    const at = { id: 's1', fence: 1 };
    same(await a.log.put(at, [said(2), said(4)]), 'written', 'all that is to be kept');
    same(await a.log.append(at, [said(5)]), 'written', 'what comes after it');
    same(numbers(await b.log.read('s1')), [2, 4, 5], 'what is kept then');
    same(await a.log.put({ id: 's1', fence: 0 }, []), 'fenced', 'what another owner has kept');
    same(await a.log.put({ id: 's2', fence: 1 }, []), 'behind', 'what nobody owns');
  }),
  storesCase(
    'the oldest give way to more than may be kept',
    async ({ a, b }) => {
      await put(a);
      for (const number of [1, 2, 3, 4]) await a.log.append({ id: 's1', fence: 1 }, [said(number)]);
      same(numbers(await b.log.read('s1')), [2, 3, 4], 'the last three');
      await a.log.append({ id: 's1', fence: 1 }, [said(5, { text: 'x'.repeat(700) })]);
      same(numbers(await b.log.read('s1')).at(-1), 5, 'the last one');
      await a.log.append({ id: 's1', fence: 1 }, [said(6, { text: 'x'.repeat(700) })]);
      same(numbers(await b.log.read('s1')), [6], 'what is left by a long one');
    },
    { maxEvents: 3, maxBytes: 1000 },
  ),
  storesCase(
    'nothing is kept for longer than it may be',
    async ({ a, b, world }) => {
      await put(a);
      await a.log.append({ id: 's1', fence: 1 }, [said(1)]);
      await world.elapse(800);
      await a.log.append({ id: 's1', fence: 1 }, [said(2)]);
      await world.elapse(700);
      same(numbers(await b.log.read('s1')), [2], 'what is left');
    },
    { maxAgeMs: 1200 },
  ),
];

const broadcastCases: readonly StoresCase[] = [
  storesCase('broadcasts come to every node, in the order of their sender', async ({ a, b }) => {
    const texts = Array.from({ length: 50 }, (_, n) => `text ${n} ü`);
    for (const text of texts) await a.broadcasts.publish(text);
    same(await b.heard.count(50), texts, 'what has come');
    same(await a.heard.count(50), texts, 'what has come to the sender');
  }),
];

/**
 * ```ts
 * describe('my stores', () => {
 *   for (const { name, check } of storesContract) test(name, () => check(openWorld));
 * });
 * ```
 */
export const storesContract: readonly StoresCase[] = [
  ...directoryCases,
  ...logCases,
  ...broadcastCases,
];

/** Neither the order of members nor a member that is undefined makes a difference. */
function textOf(value: unknown): string {
  return String(
    JSON.stringify(value, (_, part: unknown) =>
      typeof part === 'object' && part !== null && !Array.isArray(part)
        ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
        : part,
    ),
  );
}

/** @throws {Error} if the values differ */
export function same(actual: unknown, expected: unknown, what: string): void {
  const [is, should] = [textOf(actual), textOf(expected)];
  if (is !== should) {
    throw new Error(`${what} is ${is.slice(0, 500)}, it should be ${should.slice(0, 500)}`);
  }
}
