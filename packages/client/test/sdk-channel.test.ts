/** A connection's way over a transport of the official SDK's shape, which is in the test's own hands. */
import { flush } from 'mcp-actors/testing';
import { describe, expect, onTestFinished, test } from 'vitest';
import { processRestart } from '../src/channel/restart-option.ts';
import { sdkChannel } from '../src/channel/sdk-channel.actor.ts';
import type { SdkTransport } from '../../../src/transports/sdk-transport.ts';
import { ChannelOwner } from './channel-owner.ts';

interface Settled {
  resolve(): void;
  reject(error: Error): void;
}

/** What is called of it, in order; what it says of its start, its end and each message is up to the test. */
function byHand() {
  const calls: unknown[] = [];
  const ends: { [of in 'start' | 'close' | 'send']?: Settled } = {};
  const called = (of: 'start' | 'close' | 'send', what: unknown) =>
    new Promise<void>((resolve, reject) => {
      calls.push(what);
      ends[of] = { resolve, reject };
    });
  const transport: SdkTransport = {
    start: () => called('start', 'start'),
    close: () => called('close', 'close'),
    send: (message) => called('send', message),
    setProtocolVersion: (revision) => calls.push(revision),
  };
  const owner = new ChannelOwner(sdkChannel(transport));
  onTestFinished(() => owner.end());
  return { owner, transport, calls, ends };
}

async function opened() {
  const made = byHand();
  made.ends.start?.resolve();
  await made.owner.told('channel.opened');
  return made;
}

const message = { jsonrpc: '2.0', method: 'notifications/message' } as never;

describe('a channel over a transport of another make', () => {
  test('can be made again only by a function', () => {
    const { transport } = byHand();
    expect(sdkChannel(transport)).toMatchObject({ name: 'server', shows: 'pipe', restart: 'none' });
    expect(sdkChannel(() => transport).restart).toBe(processRestart);
  });

  test('carries messages, tells the revision, and has stopped once the transport is closed', async () => {
    const { owner, transport, calls, ends } = await opened();
    owner.channel.send({ type: 'channel.negotiated', revision: '2025-11-25' });
    owner.send('ping');
    transport.onmessage?.(message);
    expect(owner.frames).toMatchObject([{ kind: 'notification' }]);
    transport.onerror?.(new Error('odd'));
    owner.close();
    owner.close();
    owner.channel.send({ type: 'channel.negotiated', revision: '2025-11-25' });
    await flush();
    expect(owner.order).toEqual(['opened']);
    ends.close?.reject(new Error('stuck'));
    await owner.told('channel.stopped');
    owner.close();
    await flush();
    expect(owner.order).toEqual(['opened', 'stopped', 'stopped']);
    owner.end();
    const ping = { jsonrpc: '2.0', id: 1, method: 'ping', params: {} };
    expect(calls).toEqual(['start', '2025-11-25', ping, 'close']);
    expect(owner.facts).toMatchObject(
      ['reported: Error: odd', 'did not close: Error: stuck'].map((what) => ({
        level: 'warning',
        name: 'transport.failed',
        message: `The transport ${what}`,
      })),
    );
  });

  test('is lost with the transport, behind what came before', async () => {
    const { owner, transport } = await opened();
    transport.onmessage?.(message);
    transport.onclose?.();
    await owner.told('channel.lost');
    expect([owner.loss, owner.frames.length]).toEqual([{ kind: 'input-ended' }, 1]);
  });

  test('is lost if the transport does not take a message', async () => {
    const { owner, ends } = await opened();
    owner.send('ping');
    const error = new Error('gone');
    ends.send?.reject(error);
    await owner.told('channel.lost');
    expect(owner.loss).toEqual({ kind: 'output-broken', error });
  });

  test('hears no more once its ends are stopped', async () => {
    const { owner, transport } = await opened();
    owner.stopEnds();
    transport.onmessage?.(message);
    transport.onclose?.();
    await flush();
    expect([owner.frames, owner.order]).toEqual([[], ['opened']]);
  });

  test('bounds what it reads while nothing is taken, and what waits, and tells both', async () => {
    const { owner, transport } = await opened();
    const text = 'x'.repeat(owner.limits.maxOutboundBytes);
    for (let n = 0; n < 2; n++) owner.send('ping', { text });
    const long = { ...(message as object), params: { text } } as never;
    for (let n = 0; n < 3 && !owner.loss; n++) transport.onmessage?.(long);
    expect(owner.loss).toMatchObject({ kind: 'output-broken', error: { code: 'LIMIT_EXCEEDED' } });
    expect(owner.facts.map((fact) => fact.message)).toEqual([
      expect.stringMatching(/^The transport is not reading/),
      expect.stringMatching(/^The server is not reading and sent more/),
    ]);
  });

  test.each(['closed', 'stopped'] as const)(
    'that is %s while the transport starts is not opened, nor lost',
    async (how) => {
      for (const outcome of ['resolve', 'reject'] as const) {
        const { owner, transport, calls, ends } = byHand();
        if (how === 'closed') owner.close();
        else owner.channel.stop();
        transport.onclose?.();
        ends.start?.[outcome](new Error('late'));
        ends.close?.resolve();
        await flush();
        owner.end();
        expect(calls).toEqual(['start', 'close']);
        expect([owner.order, owner.facts]).toEqual([how === 'closed' ? ['stopped'] : [], []]);
      }
    },
  );

  test('is lost at once if no transport can be made', async () => {
    const error = new Error('none left');
    const owner = new ChannelOwner(
      sdkChannel(() => {
        throw error;
      }),
    );
    onTestFinished(() => owner.end());
    await owner.told('channel.lost');
    expect(owner.loss).toEqual({ kind: 'unreachable', error });
    owner.close();
    expect(owner.order).toEqual(['lost', 'stopped']);
    expect(owner.facts).toEqual([]);
  });
});
