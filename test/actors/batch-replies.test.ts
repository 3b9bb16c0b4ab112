import { describe, expect, test } from 'vitest';
import { BatchReplies } from '../../src/actors/router/batch-replies.ts';
import type { OutboundFrame } from '../../src/protocol/frames.ts';
import { clientId } from './ids.ts';

const answer = (id: number) => ({ jsonrpc: '2.0', id: clientId(id), result: {} }) as const;
const origin = { idScope: 'session' } as const;

function startBatch(expected: number) {
  const sent: (OutboundFrame | 'dropped')[] = [];
  const add = (frame: OutboundFrame) => void sent.push(frame);
  const drop = () => void sent.push('dropped');
  return { replies: new BatchReplies(expected, { add, drop }, { origin }), sent };
}

describe('BatchReplies', () => {
  test('sends all responses in order with the last one', () => {
    const { replies, sent } = startBatch(3);
    replies.add(answer(2));
    replies.add(answer(1));
    expect(sent).toEqual([]);
    replies.add(answer(3));
    expect(sent).toEqual([[answer(2), answer(1), answer(3)]]);
  });

  test('sends the batch when the last missing response is dropped', () => {
    const { replies, sent } = startBatch(2);
    replies.add(answer(1));
    replies.drop();
    expect(sent).toEqual([[answer(1)]]);
  });

  test('does not wait for a response dropped earlier', () => {
    const { replies, sent } = startBatch(2);
    replies.drop();
    replies.add(answer(1));
    expect(sent).toEqual([[answer(1)]]);
  });

  test('sends nothing, not even an empty array, if all requests were cancelled', () => {
    const { replies, sent } = startBatch(2);
    replies.drop();
    replies.drop();
    expect(sent).toEqual(['dropped']);
  });
});
