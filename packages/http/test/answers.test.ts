/** Answers to POST requests, tested without an endpoint. */
import { expect, test } from 'vitest';
import { PostAnswer, StatelessAnswer } from '../src/answers.ts';
import type { StatelessAnswerOwner, AnsweredFrame, AnswerSession } from '../src/answers.ts';
import type { HttpAnswer, HttpExchange } from '../src/http-exchange.ts';
import type { InboundRequestId } from '../../../src/protocol/frames.ts';

/** An exchange that records its output; `leave` disconnects its client. */
function exchanged() {
  const sent: unknown[] = [];
  let leave = () => {};
  const sink = {
    write: (text: string) => void sent.push(text),
    end: () => void sent.push('end'),
    cut: () => void sent.push('cut'),
    setOwner: () => {},
    unsentBytes: 5,
  };
  const exchange = {
    principal: { id: 'ada' },
    remoteAddress: '192.0.2.1',
    answer: (answer: HttpAnswer) => void sent.push(answer),
    stream: () => {
      sent.push('stream');
      return sink;
    },
    onDisconnected: (callback: () => void) => {
      leave = callback;
    },
  } as unknown as HttpExchange;
  return { exchange, sent, leave: () => leave() };
}

const request = (method = 'ping') => ({ kind: 'request', id: 1, method }) as AnsweredFrame;
const response = { jsonrpc: '2.0', id: 1 as InboundRequestId, result: {} } as const;
const notification = { jsonrpc: '2.0', method: 'test/step' } as const;
const json = (headers = {}) => ({
  status: 200,
  headers: { 'content-type': 'application/json', ...headers },
  body: 'response',
});

/** An answer of a running session, with a recording stream and session. */
function ofSession(frame = request()) {
  const { exchange, sent, leave } = exchanged();
  const heard: string[] = [];
  const session: AnswerSession = {
    id: 'session',
    endpoint: { limits: { streamAfterMs: 5000 }, streams: true, unaskable: 'nobody asks' },
    usedAt: 100,
    isInitialized: true,
    drainRetryMs: undefined,
    recordedCalls: undefined,
    pollAfterMs: 7,
    openStream: () =>
      ({
        begin: () => void heard.push('begun'),
        send: (text: string) => void heard.push(text),
        end: (how: string) => void heard.push(how),
        onConnectionClosed: () => void heard.push('left'),
      }) as never,
    onAnswerLost: () => void heard.push('lost'),
    onAnswerEnded: () => void heard.push('ended'),
  };
  return { answer: new PostAnswer(exchange, session, frame), sent, heard, leave };
}

test("identifies a session answer by its requests and its exchange's principal", () => {
  const { answer } = ofSession();
  expect(answer).toMatchObject({
    idScope: 'session',
    principal: { id: 'ada' },
    noRequestsReason: 'nobody asks',
    receivedAt: 100,
  });
});

test('sends nothing after the end and reports the end once', () => {
  const { answer, sent, heard } = ofSession();
  expect(answer.send(response, 'response')).toBe(true);
  expect([answer.isPending, answer.headersUnsent]).toEqual([false, false]);
  expect(answer.send(response, 'again')).toBe(false);
  expect(answer.startStream()).toBe(false);
  for (const end of [() => answer.drop(), () => answer.accept()]) end();
  answer.refuse({ status: 500 });
  expect([sent, heard]).toEqual([[json()], ['ended']]);
});

test('writes nothing and has no unread bytes after its stream has ended', () => {
  const { answer, sent, heard } = ofSession();
  expect(answer.send(notification, 'step')).toBe(true);
  expect(answer.unreadBytes).toBe(5);
  expect(answer.send(response, 'response')).toBe(true);
  expect([answer.send(notification, 'late'), answer.send(response, 'late')]).toEqual([
    false,
    false,
  ]);
  answer.drop();
  expect([sent, heard]).toEqual([['stream'], ['begun', 'step', 'response', 'answered', 'ended']]);
  expect([answer.isPending, answer.unreadBytes]).toEqual([false, 0]);
});

test('ends a call without a response with an empty stream', () => {
  const { answer, sent, heard } = ofSession();
  answer.drop();
  expect(answer.send(response, 'late')).toBe(false);
  expect([answer.isPending, sent, heard]).toEqual([false, ['stream', 'end'], ['ended']]);
});

test('sends the session id only with the response to initialize', () => {
  const greeting = ofSession(request('initialize'));
  greeting.answer.send(response, 'response');
  expect(greeting.sent).toEqual([json({ 'mcp-session-id': 'session' })]);
  const other = ofSession();
  other.answer.send(response, 'response');
  expect(other.sent).toEqual([json()]);
});

test('becomes a stream after streamAfterMs, and not before', () => {
  const { answer, sent } = ofSession();
  answer.tick(5099);
  expect(sent).toEqual([]);
  answer.tick(5100);
  expect(sent).toEqual(['stream']);
});

test('loses an answer without headers when its client disconnects, but not an ended one', () => {
  const waiting = ofSession();
  waiting.leave();
  expect(waiting.heard).toEqual(['lost']);
  // The call continues and ends.
  expect(waiting.answer.send(response, 'late')).toBe(false);
  expect([waiting.sent, waiting.heard]).toEqual([[], ['lost', 'ended']]);
  const answered = ofSession();
  answered.answer.send(response, 'response');
  answered.leave();
  expect(answered.heard).toEqual(['ended']);
});

class Stateless extends StatelessAnswer {
  override readonly cancelsOnDisconnect = true;

  protected override statusOf(): number {
    return 200;
  }
}

/** A sessionless answer with a recording owner. */
function withoutSession() {
  const { exchange, sent, leave } = exchanged();
  const heard: string[] = [];
  const keeper: StatelessAnswerOwner = {
    limits: { streamAfterMs: 5000 },
    streams: true,
    node: 'here',
    onAnswerAborted: (_, reason) => void heard.push(reason),
    onAnswerEnded: () => void heard.push('ended'),
    onTokenEnded: (_, end) => void heard.push(end),
  };
  const answer = new Stateless(exchange, { idScope: 'request', id: response.id }, keeper);
  return { answer, sent, heard, leave };
}

test('turns a sessionless answer into a stream after streamAfterMs, and not before', () => {
  const { answer, sent } = withoutSession();
  answer.advance(3000);
  answer.advance(1999);
  expect([sent, answer.view]).toEqual([[], undefined]);
  answer.advance(1);
  expect([sent, answer.view]).toEqual([['stream'], expect.objectContaining({ ageMs: 5000 })]);
});

test("reports a sessionless client's disconnect once, and not after the response", () => {
  const { answer, sent, heard, leave } = withoutSession();
  leave();
  answer.cut('again');
  expect(answer.send(response, 'late')).toBe(false);
  expect([sent, heard]).toEqual([[], ['The client closed the connection']]);
  const answered = withoutSession();
  expect(answered.answer.send(response, 'response')).toBe(true);
  answered.leave();
  expect([answered.sent, answered.heard]).toEqual([[json()], ['ended']]);
});

test("counts a sessionless answer towards its client's quota", () => {
  expect(withoutSession().answer).toMatchObject({
    idScope: 'request',
    clientKey: 'ada',
    node: 'here',
  });
});
