import type { Letter } from '../../http/nodes/mailbox.ts';
import { streamName } from '../../http/nodes/names.ts';
import { same, startNode, storesCase } from './world.ts';
import type { Node, StoresCase, StoresWorld } from './world.ts';

const answer = (text: string): Letter => ({ kind: 'answer', session: 's1', text });

/** Both nodes have replicas of `s1`, and one node more. */
async function threeMembers(a: Node, b: Node, world: StoresWorld): Promise<Node> {
  const c = await startNode(world);
  for (const { mailbox } of [a, b, c]) await mailbox.join('s1');
  return c;
}

const letterCases: readonly StoresCase[] = [
  storesCase('a letter has been heard when its sender is told so', async ({ a, b }) => {
    same(
      await b.mailbox.send(a.node, answer('"ä\u{1f600}"')),
      { kind: 'received' },
      'the delivery',
    );
    same(a.inbox.letters, [answer('"ä\u{1f600}"')], 'the letters');
    same(await b.mailbox.send(b.node, answer('2')), { kind: 'received' }, 'one to oneself');
    same(b.inbox.letters, [answer('2')], 'the letters to oneself');
  }),

  storesCase('letters keep their order', async ({ a, b }) => {
    const letters = Array.from({ length: 200 }, (_, n) => answer(`${n}`));
    await Promise.all(letters.map((letter) => b.mailbox.send(a.node, letter)));
    same(a.inbox.letters, letters, 'the letters');
  }),

  storesCase(
    'a letter to a node that is dead, or never was, reaches nobody',
    async ({ a, b, world }) => {
      await world.kill(a);
      same(await b.mailbox.send(a.node, answer('1')), { kind: 'gone' }, 'the delivery');
      same(await b.mailbox.send('nobody', answer('1')), { kind: 'gone' }, 'that to nobody');
      same(a.inbox.letters, [], 'its letters');
    },
  ),

  storesCase('a node that has left is gone at once', async ({ a, b }) => {
    await a.close();
    same(await b.mailbox.send(a.node, answer('1')), { kind: 'gone' }, 'the delivery');
  }),

  storesCase('a broadcast is heard by all other nodes of the session', async ({ a, b, world }) => {
    const c = await threeMembers(a, b, world);
    await c.mailbox.leave('s1');
    const d = await startNode(world);
    await d.mailbox.join('s1');
    const letter: Letter = { kind: 'updated', session: 's1', version: 2, slot: 'initialized' };
    await a.mailbox.broadcast(letter);
    const heard = [a, b, c, d].map(({ inbox }) => inbox.letters);
    same(heard, [[], [letter], [], [letter]], 'who heard it');
  }),

  storesCase('a dead node holds no broadcast up', async ({ a, b, world }) => {
    const c = await threeMembers(a, b, world);
    await world.kill(b);
    const letter: Letter = { kind: 'removed', session: 's1', reason: 'deleted' };
    await a.mailbox.broadcast(letter);
    same([b.inbox.letters, c.inbox.letters], [[], [letter]], 'who heard it');
  }),
];

const pushCases: readonly StoresCase[] = [
  storesCase('pushes wait for the stream that holds them, in order', async ({ a, b }) => {
    const stream = streamName(b.node, 1);
    for (const { mailbox } of [a, b]) await mailbox.join('s1');
    for (const text of ['1', '2', '3']) await a.mailbox.push('s1', text);
    const held = await b.mailbox.hold('s1', stream, 'newest');
    same(held, { kind: 'held', waiting: true }, 'the hold');
    const taken = { kind: 'taken', texts: ['1', '2', '3'], dropped: 0 };
    same(await b.mailbox.take('s1', stream), taken, 'what it takes');
    const nothing = { kind: 'taken', texts: [], dropped: 0 };
    same(await b.mailbox.take('s1', stream), nothing, 'what it takes then');
  }),

  storesCase('the holder hears of a push at another node', async ({ a, b }) => {
    const stream = streamName(b.node, 1);
    for (const { mailbox } of [a, b]) await mailbox.join('s1');
    same(await b.mailbox.hold('s1', stream, 'newest'), { kind: 'held', waiting: false }, 'it');
    await a.mailbox.push('s1', '1');
    const notice = { kind: 'pushes.waiting', session: 's1', stream };
    same(await b.inbox.noticed('pushes.waiting'), notice, 'the notice');
  }),

  storesCase(
    'of too many pushes the oldest give way, and that is told once',
    async ({ a, b }) => {
      const stream = streamName(a.node, 1);
      for (const { mailbox } of [a, b]) await mailbox.join('s1');
      for (const text of ['1', '2', '3', '4']) await b.mailbox.push('s1', text);
      await b.mailbox.push('s1', 'x'.repeat(90));
      await a.mailbox.hold('s1', stream, 'newest');
      const taken = { kind: 'taken', texts: ['4', 'x'.repeat(90)], dropped: 3 };
      same(await a.mailbox.take('s1', stream), taken, 'what it takes');
      await b.mailbox.push('s1', 'y'.repeat(101));
      const dropped = { kind: 'taken', texts: [], dropped: 1 };
      same(await a.mailbox.take('s1', stream), dropped, 'after one that is too long alone');
    },
    { maxPushes: 2, maxPushBytes: 100 },
  ),

  storesCase('the newest stream takes the pushes, and the other node is told', async ({ a, b }) => {
    const [old, young] = [streamName(a.node, 1), streamName(b.node, 1)];
    for (const { mailbox } of [a, b]) await mailbox.join('s1');
    await a.mailbox.hold('s1', old, 'newest');
    same((await b.mailbox.hold('s1', young, 'ifFree')).kind, 'taken', 'a hold if it is free');
    same((await b.mailbox.hold('s1', young, 'newest')).kind, 'held', 'the hold');
    const notice = { kind: 'hold.taken', session: 's1', stream: old };
    same(await a.inbox.noticed('hold.taken'), notice, 'the notice');
    await b.mailbox.push('s1', '1');
    same(await a.mailbox.take('s1', old), { kind: 'notHolder' }, 'what the old one takes');
    await a.mailbox.release('s1', old);
    same((await b.mailbox.take('s1', young)).kind, 'taken', 'what the young one takes');
  }),

  storesCase('of streams that take at once, one holds', async ({ a, b }) => {
    for (const { mailbox } of [a, b]) await mailbox.join('s1');
    const streams = [1, 2, 3].flatMap((n) => [streamName(a.node, n), streamName(b.node, n)]);
    const byNode = (stream: string) => (stream.startsWith(a.node) ? a : b).mailbox;
    await Promise.all(streams.map((stream) => byNode(stream).hold('s1', stream, 'newest')));
    const taken = await Promise.all(streams.map((stream) => byNode(stream).take('s1', stream)));
    same(taken.filter(({ kind }) => kind === 'taken').length, 1, 'the number of holders');
  }),

  storesCase('a stream that lets go gives back what it has not written', async ({ a, b }) => {
    const [one, two] = [streamName(a.node, 1), streamName(b.node, 1)];
    for (const { mailbox } of [a, b]) await mailbox.join('s1');
    await a.mailbox.hold('s1', one, 'newest');
    for (const text of ['1', '2']) await b.mailbox.push('s1', text);
    await a.mailbox.take('s1', one);
    await a.mailbox.written('s1', one, 1);
    await b.mailbox.push('s1', '3');
    b.inbox.notices.splice(0);
    await a.mailbox.release('s1', one);
    await b.inbox.noticed('hold.free');
    same(await b.mailbox.hold('s1', two, 'ifFree'), { kind: 'held', waiting: true }, 'the hold');
    const taken = { kind: 'taken', texts: ['2', '3'], dropped: 0 };
    same(await b.mailbox.take('s1', two), taken, 'what the other takes');
  }),

  storesCase(
    'a dead node holds nothing, and what it had in its hand comes again',
    async ({ a, b, world }) => {
      const [one, two] = [streamName(a.node, 1), streamName(b.node, 1)];
      for (const { mailbox } of [a, b]) await mailbox.join('s1');
      await a.mailbox.hold('s1', one, 'newest');
      for (const text of ['1', '2']) await b.mailbox.push('s1', text);
      await a.mailbox.take('s1', one);
      await a.mailbox.written('s1', one, 1);
      await world.kill(a);
      await b.mailbox.push('s1', '3');
      same(await b.inbox.noticed('hold.free'), { kind: 'hold.free', session: 's1' }, 'the notice');
      same(await b.mailbox.hold('s1', two, 'ifFree'), { kind: 'held', waiting: true }, 'the hold');
      const taken = { kind: 'taken', texts: ['2', '3'], dropped: 0 };
      same(await b.mailbox.take('s1', two), taken, 'what the other takes');
    },
  ),

  storesCase('a session that is forgotten has no pushes, and gets none', async ({ a, b }) => {
    const stream = streamName(a.node, 1);
    for (const { mailbox } of [a, b]) await mailbox.join('s1');
    await a.mailbox.hold('s1', stream, 'newest');
    await b.mailbox.push('s1', '1');
    await b.mailbox.forget('s1');
    await b.mailbox.push('s1', '2');
    same(await a.mailbox.take('s1', stream), { kind: 'notHolder' }, 'what it takes');
    same(await a.mailbox.hold('s1', stream, 'newest'), { kind: 'gone' }, 'a hold');
    await b.mailbox.broadcast({ kind: 'updated', session: 's1', version: 2, slot: 'initialized' });
    same(a.inbox.letters, [], 'its letters');
  }),
];

/** What every mailbox must do. */
export const mailboxCases: readonly StoresCase[] = [...letterCases, ...pushCases];
