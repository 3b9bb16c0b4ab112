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

describe('the answers to a batch', () => {
  test('leave together, in the order in which they came, with the last', () => {
    const { replies, sent } = startBatch(3);
    replies.add(answer(2));
    replies.add(answer(1));
    expect(sent).toEqual([]);
    replies.add(answer(3));
    expect(sent).toEqual([[answer(2), answer(1), answer(3)]]);
  });

  test('leave when the last that was missing will not come', () => {
    const { replies, sent } = startBatch(2);
    replies.add(answer(1));
    replies.drop();
    expect(sent).toEqual([[answer(1)]]);
  });

  test('do not wait for what was cancelled before', () => {
    const { replies, sent } = startBatch(2);
    replies.drop();
    replies.add(answer(1));
    expect(sent).toEqual([[answer(1)]]);
  });

  test('are nothing where all were cancelled, not an empty array', () => {
    const { replies, sent } = startBatch(2);
    replies.drop();
    replies.drop();
    expect(sent).toEqual(['dropped']);
  });
});
