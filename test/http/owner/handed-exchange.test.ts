/** What goes to the node that a client is connected to: how much of it, in which pieces, and until when. */
import { describe, expect, test } from 'vitest';
import { HandedExchange } from '../../../src/http/owner/handed-exchange.ts';
import { windowBytes } from '../../../src/http/owner/letters.ts';
import type { Letter } from '../../../src/http/owner/letters.ts';
import type { Peer, Taken } from '../../../src/http/owner/peer.ts';
import { turn } from '../../../src/testing/index.ts';
import { exchangeHome } from '../exchange-home.ts';
import { handedRequest } from './handed-request.ts';

const pipe = 7;

/** A request that another node has handed on, and what that node is told. */
function handed() {
  const letters: Letter[] = [];
  const exchanges = new Map<number, Taken>();
  const post = (letter: Letter) => void letters.push(letter);
  const peer = { node: 'other', exchanges, post } as unknown as Peer;
  const exchange = new HandedExchange(pipe, handedRequest, peer, exchangeHome());
  exchanges.set(pipe, exchange);
  const parts = () => letters.flatMap((letter) => (letter.kind === 'part' ? [letter] : []));
  const said = () => parts().map(({ text }) => text);
  return { exchange, exchanges, letters, parts, said };
}

describe('a stream of a handed request', () => {
  test('has its head in the first part alone, and its end in the last, though that says nothing', async () => {
    const { exchange, exchanges, parts } = handed();
    const sink = exchange.stream({ 'x-kind': 'stream' });
    await turn();
    sink.write('one');
    await turn();
    await turn();
    sink.end();
    const head = { status: 200, headers: { 'x-kind': 'stream' }, isStream: true };
    expect(parts()).toEqual([
      { kind: 'part', pipe, number: 1, text: '', head },
      { kind: 'part', pipe, number: 2, text: 'one' },
      { kind: 'part', pipe, number: 3, text: '', isLast: true },
    ]);
    expect(exchanges.size).toBe(0);
    exchange.taken(3);
    expect(parts()).toHaveLength(3);
  });

  test('has no more on its way than there is room for, and no half of a character', async () => {
    const { exchange, parts, said } = handed();
    const whole = `a${'😀'.repeat(windowBytes / 2)}é${'😀'.repeat(100)}`;
    const sink = exchange.stream({});
    sink.write(whole);
    sink.end();
    let taken = 0;
    for (let before = -1; parts().at(-1)?.isLast !== true && said().length > before;) {
      before = said().length;
      await turn();
      const bytes = Buffer.byteLength(said().join(''));
      expect(bytes - taken).toBeLessThanOrEqual(windowBytes);
      taken = bytes;
      exchange.taken(taken);
    }
    expect(said().join('')).toBe(whole);
    // What is cut within a character is no longer the same once it has been written as bytes.
    const read = said().map((text) => Buffer.from(text).toString());
    expect(read.join('')).toBe(whole);
    expect(said()).toHaveLength(3);
  });

  test('says nothing more once its client has left, and those who wait for that hear it once', async () => {
    const { exchange, exchanges, letters, said } = handed();
    const heard: string[] = [];
    exchange.onGone(() => heard.push('before'));
    exchange.onGone(() => heard.push('never'))();
    const sink = exchange.stream({});
    sink.write('one');
    await turn();
    sink.write('two');
    exchange.left();
    await turn();
    sink.write('three');
    sink.end();
    await turn();
    expect(said().join('')).toBe('one');
    expect(letters.at(-1)).toMatchObject({ kind: 'part', text: 'one' });
    exchange.onGone(() => heard.push('after'));
    expect([exchange.isGone, exchanges.size, heard]).toEqual([true, 0, ['before', 'after']]);
  });

  test('that is cut is cut at the other node, and says nothing more', async () => {
    const { exchange, exchanges, letters } = handed();
    const sink = exchange.stream({});
    await turn();
    sink.write('lost');
    sink.cut();
    await turn();
    expect(letters.slice(1)).toEqual([{ kind: 'cut', pipe }]);
    expect(exchanges.size).toBe(0);
  });
});

test('an answer that is longer than what may be on its way goes in parts, and any other at once', () => {
  const short = handed();
  short.exchange.answer({ status: 200, headers: {}, body: 'x'.repeat(windowBytes) });
  expect(short.letters.map(({ kind }) => kind)).toEqual(['answer']);
  const long = handed();
  const body = 'x'.repeat(windowBytes + 1);
  long.exchange.answer({ status: 201, headers: {}, body });
  expect(long.parts()).toMatchObject([
    { head: { status: 201, isStream: false }, text: body.slice(1) },
  ]);
  long.exchange.taken(windowBytes);
  expect(long.parts().slice(1)).toMatchObject([{ text: 'x', isLast: true }]);
});

test('nobody is answered who has left', () => {
  const { exchange, letters } = handed();
  exchange.left();
  exchange.answer({ status: 200, headers: {}, body: 'late' });
  expect(letters).toEqual([]);
});
