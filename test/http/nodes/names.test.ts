import { expect, test } from 'vitest';
import { RequestIds } from '../../../src/actors/correlation/pending-requests.ts';
import {
  askerOf,
  eventId,
  isStreamName,
  newNodeName,
  writerOf,
  readEventId,
  requestIdEnd,
  streamName,
} from '../../../src/http/nodes/names.ts';

test('an event id is read back to its stream and number, and the stream to its node', () => {
  const node = newNodeName();
  const place = { stream: streamName(node, 12), number: 345 };
  expect(readEventId(eventId(place))).toEqual(place);
  expect(writerOf(place.stream)).toBe(node);
  expect(isStreamName(place.stream)).toBe(true);
});

test.each([
  '',
  'a',
  '-',
  'a-1',
  'a.1',
  'a.1-',
  'a.1-01',
  'a.0-1',
  'a.1--1',
  '.1-1',
  'a.1-1 ',
  'a.1-1e3',
  'a}b.1-1',
  `${'a'.repeat(65)}.1-1`,
  'a.1-9999999999999999',
])('what no node has written is no event id: %j', (text) => {
  expect(readEventId(text)).toBeUndefined();
});

test('the node that asked is read from the id of its request', () => {
  const node = newNodeName();
  const ids = new RequestIds(() => requestIdEnd(node));
  expect(askerOf(ids.of(ids.next()))).toBe(node);
});

test.each([
  7,
  undefined,
  null,
  {},
  '',
  's-1',
  's-1-uuid',
  's-0-a.b',
  'x-1-a.b',
  's-1-a}b.c',
  's-1e3-a.b',
])('an id that is not of a request of ours names no node: %j', (id) => {
  expect(askerOf(id)).toBeUndefined();
});

test('no two nodes have the same name', () => {
  expect(new Set(Array.from({ length: 1000 }, newNodeName)).size).toBe(1000);
});
