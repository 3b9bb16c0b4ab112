/** What a host wants of its server on every channel: a server in the test's own hands. */
import { unobserved } from '../../../src/actors/transitions.ts';
import { describe, expect, test } from 'vitest';
import { Wishes } from '../../../src/client/lists/wishes.ts';
import { ProtocolError, RuntimeError } from '../../../src/protocol/errors.ts';
import type { JsonObject } from '../../../src/protocol/frames.ts';
import { TestClock, turn } from '../../../src/testing/index.ts';

const listen = 'subscriptions/listen';

function wishesByHand() {
  interface Sent {
    readonly method: string;
    readonly params: JsonObject | undefined;
    answer(): void;
    fail(error: unknown): void;
  }
  const clock = new TestClock();
  const sent: Sent[] = [];
  const ended: number[] = [];
  const problems: string[] = [];
  const wishes = new Wishes({
    clock,
    limits: { listenRetryMs: 1000, maxListenRetryMs: 30_000 },
    observed: unobserved,
    problem: (name, message) => problems.push(`${name} ${message}`),
    request: (method, params, { signal, sent: got }) =>
      new Promise((resolve, reject) => {
        const index = sent.length;
        sent.push({ method, params, answer: () => resolve({}), fail: reject });
        signal?.addEventListener('abort', () => ended.push(index));
        got?.(index);
      }),
  });
  const acknowledge = (index: number, agreed?: readonly string[]) => {
    const asked = sent[index]?.params?.['notifications'] as JsonObject | undefined;
    wishes.acknowledged({
      _meta: { 'io.modelcontextprotocol/subscriptionId': index },
      notifications: agreed ? { resourceSubscriptions: agreed } : asked,
    });
  };
  const lines = () =>
    sent.map(({ method, params }) => {
      const { uri, level, notifications } = (params ?? {}) as {
        readonly uri?: string;
        readonly level?: string;
        readonly notifications?: { readonly resourceSubscriptions: readonly string[] };
      };
      const uris = notifications?.resourceSubscriptions ?? [];
      return [method, uri, level, ...uris].filter((word) => word !== undefined).join(' ');
    });
  const wait = { timeoutMs: 1000 };
  return { clock, wishes, sent, ended, problems, acknowledge, lines, wait };
}

describe('before a server that takes requests', () => {
  test('a resource is watched once the server has agreed, on every later channel too', async () => {
    const { wishes, sent, lines, wait } = wishesByHand();
    wishes.opened('legacy');
    const [good, bad] = [
      wishes.subscribe('test://a', 'legacy', wait),
      wishes.subscribe('test://b', 'legacy', wait),
    ];
    sent[0]?.answer();
    sent[1]?.fail(new ProtocolError(-32602, 'No such resource'));
    await good;
    await expect(bad).rejects.toMatchObject({ code: -32602 });
    expect(wishes.uris).toEqual(['test://a']);
    wishes.closed();
    wishes.opened('legacy');
    expect(lines().slice(2)).toEqual(['resources/subscribe test://a']);
  });

  test('what the next one does not take is told, and not asked for again', async () => {
    const { wishes, sent, lines, problems, wait } = wishesByHand();
    wishes.opened('legacy');
    const watching = wishes.subscribe('test://a', 'legacy', wait);
    sent[0]?.answer();
    await watching;
    wishes.opened('legacy');
    sent[1]?.fail(new ProtocolError(-32602, 'No such resource'));
    await turn();
    expect(problems).toEqual([
      'subscription.lost "test://a" is not watched any more: ProtocolError: No such resource',
    ]);
    wishes.opened('legacy');
    expect(lines()).toHaveLength(2);
  });

  test('what was lost with its channel is asked for on the next one', async () => {
    const { wishes, sent, lines, problems, wait } = wishesByHand();
    wishes.opened('legacy');
    const watching = wishes.subscribe('test://a', 'legacy', wait);
    sent[0]?.answer();
    await watching;
    wishes.opened('legacy');
    wishes.closed();
    sent[1]?.fail(new RuntimeError('CLOSED', 'gone'));
    await turn();
    wishes.opened('legacy');
    expect([lines().length, problems]).toEqual([3, []]);
  });

  test('what is not wanted any more is undone, if there is a server', async () => {
    const { wishes, sent, lines, wait } = wishesByHand();
    wishes.opened('legacy');
    for (const uri of ['test://a', 'test://b']) {
      const watching = wishes.subscribe(uri, 'legacy', wait);
      sent.at(-1)?.answer();
      await watching;
    }
    const undone = wishes.unsubscribe('test://a', wait);
    sent.at(-1)?.answer();
    await undone;
    wishes.closed();
    await wishes.unsubscribe('test://b', wait);
    wishes.opened('legacy');
    expect(lines().slice(2)).toEqual(['resources/unsubscribe test://a']);
  });

  test('the log level is set again', async () => {
    const { wishes, sent, lines, wait } = wishesByHand();
    wishes.opened('legacy');
    const setting = wishes.setLogLevel('warning', 'legacy', wait);
    sent[0]?.answer();
    await setting;
    wishes.closed();
    wishes.opened('legacy');
    expect(lines()).toEqual(['logging/setLevel warning', 'logging/setLevel warning']);
    expect(wishes.logLevel).toBe('warning');
  });
});

describe('before a server that is listened to', () => {
  test('what is wanted in one turn is one subscription, agreed on with its acknowledgment', async () => {
    const { wishes, lines, acknowledge, wait } = wishesByHand();
    wishes.opened('modern');
    const watching = ['test://a', 'test://b'].map((uri) => wishes.subscribe(uri, 'modern', wait));
    await turn();
    expect(lines()).toEqual([`${listen} test://a test://b`]);
    acknowledge(0);
    await Promise.all(watching);
    await wishes.subscribe('test://a', 'modern', wait);
    expect(lines()).toHaveLength(1);
  });

  test('one more resource is another subscription: the one before ends when that is open', async () => {
    const { wishes, lines, ended, acknowledge, wait } = wishesByHand();
    wishes.opened('modern');
    void wishes.subscribe('test://a', 'modern', wait);
    await turn();
    acknowledge(0);
    const watching = wishes.subscribe('test://b', 'modern', wait);
    await turn();
    expect(lines()[1]).toBe(`${listen} test://a test://b`);
    expect(ended).toEqual([]);
    acknowledge(1);
    await watching;
    expect(ended).toEqual([0]);
  });

  test('what the server does not agree to is refused, and the rest is watched [LISTS-04]', async () => {
    const { wishes, lines, acknowledge, wait } = wishesByHand();
    wishes.opened('modern');
    const [good, bad] = ['test://a', 'test://b'].map((uri) =>
      wishes.subscribe(uri, 'modern', wait),
    );
    await turn();
    acknowledge(0, ['test://a']);
    await good;
    await expect(bad).rejects.toMatchObject({ code: 'CAPABILITY_MISSING' });
    await turn();
    expect(lines()[1]).toBe(`${listen} test://a`);
  });

  test('a server that knows no subscriptions refuses each', async () => {
    const { wishes, sent, wait } = wishesByHand();
    wishes.opened('modern');
    const watching = wishes.subscribe('test://a', 'modern', wait);
    await turn();
    sent[0]?.fail(new ProtocolError(-32601, 'Method not found'));
    await expect(watching).rejects.toMatchObject({ code: 'CAPABILITY_MISSING' });
    expect(wishes.uris).toEqual([]);
  });

  test('one who waits for the agreement may stop, or is told that the time is over', async () => {
    const { wishes, clock, wait } = wishesByHand();
    wishes.opened('modern');
    const controller = new AbortController();
    const { signal } = controller;
    const [cancelled, late] = [
      wishes.subscribe('test://a', 'modern', { ...wait, signal }),
      wishes.subscribe('test://b', 'modern', wait),
    ];
    controller.abort();
    await expect(cancelled).rejects.toMatchObject({ code: 'CANCELLED' });
    clock.increment(1000);
    await expect(late).rejects.toMatchObject({ code: 'REQUEST_TIMEOUT' });
    expect(wishes.uris).toEqual([]);
  });

  test('a cut is told, since changes may be missed; it listens anew', async () => {
    const { wishes, sent, clock, lines, problems, acknowledge, wait } = wishesByHand();
    wishes.opened('modern');
    const watching = wishes.subscribe('test://a', 'modern', wait);
    await turn();
    acknowledge(0);
    await watching;
    sent[0]?.fail(new RuntimeError('CLOSED', 'cut'));
    await turn();
    expect(problems).toEqual([expect.stringContaining('subscription.cut Changes of 1 resources')]);
    clock.increment(1000);
    expect(lines()).toHaveLength(2);
  });

  test('the last resource ends the subscription, and the next channel begins another', async () => {
    const { wishes, ended, lines, acknowledge, wait } = wishesByHand();
    wishes.opened('modern');
    void wishes.subscribe('test://a', 'modern', wait);
    await turn();
    acknowledge(0);
    wishes.closed();
    expect(ended).toEqual([0]);
    wishes.opened('modern');
    await turn();
    acknowledge(1);
    await wishes.unsubscribe('test://a', wait);
    await turn();
    expect(ended).toEqual([0, 1]);
    expect(lines()).toHaveLength(2);
  });

  test('the log level is not sent: it is in the envelope of each request', async () => {
    const { wishes, lines, wait } = wishesByHand();
    wishes.opened('modern');
    await wishes.setLogLevel('error', 'modern', wait);
    expect([lines(), wishes.logLevel]).toEqual([[], 'error']);
  });

  test('at the end whoever waits hears why', async () => {
    const { wishes, clock, wait } = wishesByHand();
    wishes.opened('modern');
    const watching = wishes.subscribe('test://a', 'modern', wait);
    wishes.end(new RuntimeError('CLOSED', 'closed'));
    await expect(watching).rejects.toMatchObject({ code: 'CLOSED' });
    expect(clock.liveTimers).toBe(0);
  });
});
