/** Transitions of a host's channels, their processes and closing, event by event. */
import { describe, expect, test } from 'vitest';
import { childChart } from '../../packages/processes/src/child.machine.ts';
import type { ChildChange } from '../../packages/processes/src/child.machine.ts';
import { closingChart } from '../../src/server/closing.machine.ts';
import type { ClosingEvent } from '../../src/server/closing.machine.ts';
import { upstreamChart } from '../../packages/bridge/src/upstream.machine.ts';
import type { UpstreamEvent } from '../../packages/bridge/src/upstream.machine.ts';
import { httpChannelChart } from '../../packages/client/src/http/http-channel.machine.ts';
import type { HttpChannelEvent } from '../../packages/client/src/http/http-channel.machine.ts';
import { sdkTransportChart } from '../../src/transports/sdk-transport.machine.ts';
import type { SdkTransportEvent } from '../../src/transports/sdk-transport.machine.ts';
import { stateName } from '../../src/machines/names.ts';
import { stdioChannelChart } from '../../packages/client/src/stdio/stdio-channel.machine.ts';
import type { StdioChannelEvent } from '../../packages/client/src/stdio/stdio-channel.machine.ts';

const http = (...types: HttpChannelEvent['type'][]): string =>
  stateName(
    types.reduce((state, type) => httpChannelChart.next(state, { type }), httpChannelChart.initial),
  );

describe('the HTTP channel machine', () => {
  test.each<[string, HttpChannelEvent['type'][]]>([
    ['handshake.greeting,session.none', []],
    ['handshake.done,session.none', ['revision.agreed']],
    ['handshake.greeting,session.greeted', ['session.greeted']],
    [
      'handshake.done,session.initialized',
      ['session.greeted', 'revision.agreed', 'session.initialized'],
    ],
    [
      'handshake.done,session.proven',
      ['session.greeted', 'revision.agreed', 'session.initialized', 'session.proven'],
    ],
    ['handshake.greeting,session.proven', ['session.greeted', 'session.proven']],
    ['handshake.greeting,session.none', ['session.proven']],
    ['handshake.greeting,session.none', ['session.initialized']],
    ['handshake.greeting,session.none', ['session.greeted', 'revision.agreed', 'session.expired']],
    [
      'handshake.greeting,session.greeted',
      ['session.greeted', 'session.proven', 'session.greeted'],
    ],
    ['closing', ['revision.agreed', 'channel.close']],
    ['closing', ['channel.close', 'session.expired']],
    ['over', ['channel.close', 'channel.ended']],
    ['over', ['channel.ended', 'channel.close']],
  ])('is %s after %j', (state, events) => {
    expect(http(...events)).toBe(state);
  });
});

const stdio = (...types: StdioChannelEvent['type'][]): string =>
  stateName(
    types.reduce(
      (state, type) => stdioChannelChart.next(state, { type }),
      stdioChannelChart.initial,
    ),
  );

describe('the process channel machine', () => {
  test.each<[string, StdioChannelEvent['type'][]]>([
    ['starting', []],
    ['starting', ['pipe.failed']],
    ['open', ['process.launched']],
    ['ailing', ['process.launched', 'pipe.failed']],
    ['lost', ['channel.lost']],
    ['lost', ['process.launched', 'pipe.failed', 'channel.lost', 'channel.lost']],
    ['closing', ['process.launched', 'channel.lost', 'channel.close']],
    ['closing', ['channel.close', 'channel.lost']],
    ['stopped', ['channel.close', 'process.gone']],
    ['gone', ['channel.lost', 'process.gone']],
    ['stopped', ['channel.lost', 'process.gone', 'channel.close']],
    ['stopped', ['process.launched', 'channel.stopped']],
    ['stopped', ['channel.stopped', 'process.launched']],
  ])('is %s after %j', (state, events) => {
    expect(stdio(...events)).toBe(state);
  });
});

const transport = (...types: SdkTransportEvent['type'][]): string =>
  stateName(
    types.reduce(
      (state, type) => sdkTransportChart.next(state, { type }),
      sdkTransportChart.initial,
    ),
  );

describe('the SDK transport machine', () => {
  test.each<[string, SdkTransportEvent['type'][]]>([
    ['unstarted', []],
    ['unstarted', ['transport.opened', 'output.blocked', 'transport.end']],
    ['starting', ['transport.start']],
    ['open.flowing', ['transport.start', 'transport.opened']],
    ['open.blocked', ['transport.start', 'transport.opened', 'output.blocked']],
    ['open.flowing', ['transport.start', 'transport.opened', 'output.blocked', 'output.flowing']],
    ['ending', ['transport.start', 'transport.end', 'transport.opened']],
    ['ending', ['transport.start', 'transport.opened', 'output.blocked', 'transport.end']],
    ['closed', ['transport.closed', 'transport.start']],
    ['closed', ['transport.start', 'transport.end', 'transport.closed']],
    ['closed', ['transport.start', 'transport.opened', 'transport.closed']],
  ])('is %s after %j', (state, events) => {
    expect(transport(...events)).toBe(state);
  });
});

const child = (...types: ChildChange['type'][]): string =>
  stateName(types.reduce((state, type) => childChart.next(state, { type }), childChart.initial));

describe('the child process machine', () => {
  test.each<[string, ChildChange['type'][]]>([
    ['resolving', ['child.ended', 'group.empty']],
    ['running', ['child.started', 'group.empty']],
    ['exited', ['child.started', 'child.ended']],
    ['emptied', ['child.started', 'child.ended', 'group.empty']],
    ['abandoned', ['child.abandoned', 'child.started']],
    ['abandoned', ['child.started', 'child.abandoned', 'child.ended']],
    ['abandoned', ['child.started', 'child.ended', 'group.empty', 'child.abandoned']],
  ])('is %s after %j', (state, events) => {
    expect(child(...events)).toBe(state);
  });
});

const closing = (...types: ClosingEvent['type'][]): string =>
  stateName(
    types.reduce((state, type) => closingChart.next(state, { type }), closingChart.initial),
  );

describe('the closing machine', () => {
  test.each<[string, ClosingEvent['type'][]]>([
    ['open', []],
    ['closing', ['close.begin', 'close.begin']],
    ['closed', ['close.done', 'close.begin']],
    ['closed', ['close.begin', 'close.done', 'close.begin']],
  ])('is %s after %j', (state, events) => {
    expect(closing(...events)).toBe(state);
  });
});

const upstream = (...types: UpstreamEvent['type'][]): string =>
  stateName(
    types.reduce((state, type) => upstreamChart.next(state, { type }), upstreamChart.initial),
  );

describe('the upstream machine', () => {
  test.each<[string, UpstreamEvent['type'][]]>([
    ['opening', ['requests.begun', 'requests.settled']],
    ['used', ['upstream.opened', 'upstream.failed']],
    ['idle', ['upstream.opened', 'requests.settled']],
    ['used', ['upstream.opened', 'requests.settled', 'requests.begun']],
    ['closed', ['upstream.failed', 'requests.begun', 'upstream.close']],
    ['closing', ['upstream.close', 'upstream.opened', 'requests.settled']],
    ['closing', ['upstream.opened', 'requests.settled', 'upstream.close', 'requests.begun']],
    ['closed', ['upstream.opened', 'upstream.close', 'upstream.closed']],
  ])('is %s after %j', (state, events) => {
    expect(upstream(...events)).toBe(state);
  });
});
