/** How nodes write to each other. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Endpoint } from '../../../src/http/endpoint.ts';
import { HandedExchange } from '../../../src/http/owner/handed-exchange.ts';
import { readPost, writePost } from '../../../src/http/owner/letters.ts';
import type { HandedRequest, Letter } from '../../../src/http/owner/letters.ts';
import { createMcpServer } from '../../../src/index.ts';

const text = fc.string({ unit: 'grapheme' });
const known = fc.option(text, { nil: undefined });
const pipe = fc.nat();
const headers = fc.dictionary(text, text, { noNullPrototype: true });

const head = fc.record({
  host: known,
  origin: known,
  accept: known,
  authorization: fc.constant(undefined),
  contentType: known,
  contentEncoding: known,
  sessionId: known,
  protocolVersion: known,
});

const principal = fc.record({
  id: text,
  subject: text,
  scopes: fc.array(text),
  claims: fc.dictionary(text, text, { noNullPrototype: true }),
});

const request: fc.Arbitrary<HandedRequest> = fc.record({
  method: text,
  target: text,
  remoteAddress: known,
  principal: fc.option(principal, { nil: undefined }),
  admittedMs: fc.option(fc.nat(), { nil: undefined }),
  head,
  headers: fc.array(text),
  body: fc.oneof(text, fc.json(), fc.constant('\ufefflong'.repeat(2000))),
});

const letter: fc.Arbitrary<Letter> = fc.oneof(
  fc.record({ kind: fc.constant('request' as const), pipe, request }),
  fc.record({
    kind: fc.constant('answer' as const),
    pipe,
    head: fc.record({ status: fc.nat(), headers, isStream: fc.constant(false) }),
    text: fc.oneof(text, fc.json()),
  }),
  fc.record({ kind: fc.constant('part' as const), pipe, number: fc.nat(), text }),
  fc.record({ kind: fc.constant('left' as const), pipe }),
);

test('letters are read as they were written', () => {
  const posts = fc.record({ from: text, number: fc.nat(), letters: fc.array(letter) });
  fc.assert(
    fc.property(posts, (post) => {
      expect(readPost(writePost(post))).toEqual(post);
    }),
  );
});

test('a handed request has the headers that it came with', () => {
  const endpoint = new Endpoint(createMcpServer({ name: 'owner', version: '1' }));
  const exchange = new HandedExchange(
    1,
    {
      method: 'GET',
      target: '/mcp',
      remoteAddress: '192.0.2.1',
      principal: undefined,
      admittedMs: undefined,
      head: {
        host: 'h',
        origin: undefined,
        accept: 'text/event-stream',
        authorization: undefined,
        contentType: undefined,
        contentEncoding: undefined,
        sessionId: 's',
        protocolVersion: 'v',
      },
      headers: ['last-event-id', 'constructor', 'constructor', '7'],
      body: '',
    },
    undefined as never,
    endpoint,
  );
  const names = exchange.headerNames();
  expect(Object.fromEntries(names.map((name) => [name, exchange.header(name)]))).toEqual({
    host: 'h',
    accept: 'text/event-stream',
    'mcp-session-id': 's',
    'mcp-protocol-version': 'v',
    'last-event-id': 'constructor',
    constructor: '7',
  });
  expect([exchange.header('origin'), exchange.header('7'), exchange.header('x')]).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
});
