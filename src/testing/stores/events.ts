import type { Followed, StreamEvent } from '../../http/nodes/event-store.ts';
import { streamName } from '../../http/nodes/names.ts';
import { same, storesCase } from './world.ts';
import type { Node, StoresCase } from './world.ts';

const event = (stream: string, number: number, text = `${number}`): StreamEvent => ({
  stream,
  number,
  text,
});

async function appendSome(node: Node, stream: string, count: number): Promise<void> {
  const numbers = Array.from({ length: count }, (_, n) => n + 1);
  await Promise.all(numbers.map((number) => node.events.append('s1', event(stream, number))));
}

/** Collects what a follower is told. */
class Told {
  readonly all: Followed[] = [];
  readonly #ends = new Map<Followed['kind'], () => void>();

  readonly listener = (followed: Followed): void => {
    this.all.push(followed);
    this.#ends.get(followed.kind)?.();
  };

  get texts(): readonly string[] {
    return this.all.flatMap((it) =>
      it.kind === 'events' ? it.events.map(({ text }) => text) : [],
    );
  }

  /** Resolves once that has been told. */
  async until(kind: Followed['kind']): Promise<Followed> {
    for (;;) {
      const found = this.all.find((it) => it.kind === kind);
      if (found) return found;
      await new Promise<void>((resolve) => this.#ends.set(kind, resolve));
    }
  }
}

/** What every store of events must do. */
export const eventCases: readonly StoresCase[] = [
  storesCase('another node replays one stream from a place, and no other', async ({ a, b }) => {
    const [one, two] = [streamName(a.node, 1), streamName(a.node, 2)];
    await a.events.open('s1', one, [7]);
    await a.events.open('s1', two, []);
    await appendSome(a, one, 3);
    await appendSome(a, two, 2);
    await b.events.open('s1', streamName(b.node, 1), []);
    const replay = await b.events.replay('s1', { stream: one, number: 1 });
    const events = [event(one, 2), event(one, 3)];
    same(replay, { events, missed: 0, state: { kind: 'open', unanswered: [7] } }, 'the replay');
    const rest = await b.events.replay('s1', { stream: one, number: 3 });
    same(rest.events, [], 'what comes after the last');
  }),

  storesCase('a text is replayed as it was', async ({ a, b }) => {
    const stream = streamName(a.node, 1);
    const text = `{"ä":"\u0000\u2028\u{1f600}","long":"${'é'.repeat(100_000)}"}`;
    await a.events.append('s1', event(stream, 1, text));
    const { events } = await b.events.replay('s1', { stream, number: 0 });
    same(events.length === 1 && events[0]?.text === text, true, 'whether it is the same text');
  }),

  storesCase('a stream knows which requests it has not answered', async ({ a, b }) => {
    const stream = streamName(a.node, 1);
    await a.events.open('s1', stream, [7, '7', 'x"y']);
    await a.events.append('s1', { ...event(stream, 1), answers: 7 });
    const { state, events } = await b.events.replay('s1', { stream, number: 0 });
    same(state, { kind: 'open', unanswered: ['7', 'x"y'] }, 'the state');
    same(events, [{ ...event(stream, 1), answers: 7 }], 'the events');
  }),

  storesCase('a stream that has ended says so', async ({ a, b }) => {
    const stream = streamName(a.node, 1);
    await a.events.open('s1', stream, [7]);
    await a.events.append('s1', { ...event(stream, 1), answers: 7 });
    await a.events.end('s1', { stream, number: 1 });
    const { events, missed, state } = await b.events.replay('s1', { stream, number: 0 });
    same([events.length, missed, state], [1, 0, { kind: 'ended' }], 'the replay');
  }),

  storesCase('what nobody has opened is unknown', async ({ a, b }) => {
    const unknown = { events: [], missed: 0, state: { kind: 'unknown' } };
    const place = { stream: streamName(a.node, 1), number: 0 };
    same(await a.events.replay('s1', place), unknown, 'of no session');
    await a.events.append('s1', event(streamName(a.node, 2), 1));
    same(await b.events.replay('s1', place), unknown, 'of a session with another');
  }),

  storesCase(
    'a replay has all that its node has appended before, answered or not',
    async ({ a }) => {
      const stream = streamName(a.node, 1);
      const appended = appendSome(a, stream, 50);
      const { events } = await a.events.replay('s1', { stream, number: 0 });
      same(events.length, 50, 'the number of events');
      await appended;
    },
  ),

  storesCase(
    'past their number the oldest events give way, and that is told',
    async ({ a, b }) => {
      const [one, two] = [streamName(a.node, 1), streamName(a.node, 2)];
      await a.events.open('s1', one, []);
      await appendSome(a, one, 5);
      const after = await b.events.replay('s1', { stream: one, number: 0 });
      same([after.missed, after.events], [2, [3, 4, 5].map((n) => event(one, n))], 'the replay');
      await appendSome(a, two, 3);
      const gone = await b.events.replay('s1', { stream: one, number: 1 });
      same([gone.missed, gone.events], [4, []], 'the replay after another stream took the room');
    },
    { maxEvents: 3 },
  ),

  storesCase(
    'past their bytes the oldest events give way, and that is told',
    async ({ a, b }) => {
      const stream = streamName(a.node, 1);
      await a.events.open('s1', stream, []);
      for (const number of [1, 2, 3]) {
        await a.events.append('s1', event(stream, number, 'x'.repeat(400)));
      }
      const { missed, events } = await b.events.replay('s1', { stream, number: 0 });
      same([missed, events.map(({ number }) => number)], [1, [2, 3]], 'the replay');
      await a.events.append('s1', event(stream, 4, 'x'.repeat(2000)));
      const after = await b.events.replay('s1', { stream, number: 0 });
      same([after.missed, after.events], [4, []], 'the replay after one that is too long alone');
    },
    { maxBytes: 1000 },
  ),

  storesCase(
    'events are dropped when they are old',
    async ({ a, b, world }) => {
      const stream = streamName(a.node, 1);
      await a.events.open('s1', stream, []);
      await appendSome(a, stream, 2);
      await world.elapse(1100);
      await a.events.append('s1', event(stream, 3));
      const { missed, events } = await b.events.replay('s1', { stream, number: 0 });
      same([missed, events], [2, [event(stream, 3)]], 'the replay');
    },
    // Longer than it takes to look at the youngest.
    { maxAgeMs: 1000 },
  ),

  storesCase('a lost append is told as missed', async ({ a, b }) => {
    const stream = streamName(a.node, 1);
    await a.events.open('s1', stream, []);
    await a.events.append('s1', event(stream, 1));
    await a.events.append('s1', event(stream, 3));
    const { missed, events } = await b.events.replay('s1', { stream, number: 0 });
    same([missed, events.map(({ number }) => number)], [1, [1, 3]], 'the replay');
  }),

  storesCase('another node follows a stream to its end', async ({ a, b }) => {
    const stream = streamName(a.node, 1);
    await a.events.open('s1', stream, [1]);
    await a.events.append('s1', event(stream, 1));
    const told = new Told();
    b.events.follow('s1', { stream, number: 0 }, told.listener);
    await told.until('events');
    await a.events.append('s1', event(stream, 2));
    await a.events.append('s1', { ...event(stream, 3), answers: 1 });
    await a.events.end('s1', { stream, number: 3 });
    await told.until('ended');
    same(told.texts, ['1', '2', '3'], 'what was told');
    same(told.all.at(-1), { kind: 'ended' }, 'the last');
  }),

  storesCase(
    'a follower learns that the writer has died, and what it owed',
    async ({ a, b, world }) => {
      const stream = streamName(a.node, 1);
      await a.events.open('s1', stream, [1, 'two']);
      await a.events.append('s1', { ...event(stream, 1), answers: 1 });
      const told = new Told();
      b.events.follow('s1', { stream, number: 0 }, told.listener);
      await told.until('events');
      await world.kill(a);
      same(await told.until('ownerGone'), { kind: 'ownerGone', unanswered: ['two'] }, 'the end');
      same(told.texts, ['1'], 'what was told');
    },
  ),

  storesCase('a follower of what is not there learns it', async ({ a, b }) => {
    const told = new Told();
    b.events.follow('s1', { stream: streamName(a.node, 1), number: 3 }, told.listener);
    same(await told.until('unknown'), { kind: 'unknown' }, 'the end');
    same(told.all.length, 1, 'what was told');
  }),

  storesCase('who has stopped to follow is told nothing more', async ({ a, b }) => {
    const stream = streamName(a.node, 1);
    await a.events.open('s1', stream, []);
    const [stopped, following] = [new Told(), new Told()];
    const stop = b.events.follow('s1', { stream, number: 0 }, stopped.listener);
    b.events.follow('s1', { stream, number: 0 }, following.listener);
    stop();
    await a.events.append('s1', event(stream, 1));
    await a.events.end('s1', { stream, number: 1 });
    await following.until('ended');
    same(stopped.all, [], 'what was told to it');
  }),

  storesCase('a session that is forgotten has no events', async ({ a, b }) => {
    const stream = streamName(a.node, 1);
    await a.events.open('s1', stream, [1]);
    await appendSome(a, stream, 2);
    await b.events.forget('s1');
    const { state, events } = await a.events.replay('s1', { stream, number: 0 });
    same([state, events], [{ kind: 'unknown' }, []], 'the replay');
  }),
];
