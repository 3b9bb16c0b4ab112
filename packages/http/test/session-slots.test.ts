/** Quota keys of requests, and eviction of sessions. */
import { describe, expect, test } from 'vitest';
import { createMcpServer, defineTool } from '../../../src/index.ts';
import type { Tool } from '../../../src/index.ts';
import { httpHandler } from '../src/index.ts';
import type { HttpHandler, HttpOptions } from '../src/index.ts';
import { MemoryBudget } from '../../../src/actors/memory-budget.ts';
import { SessionSlots } from '../src/session-slots.ts';
import type { SlotPriority, SlotHolder } from '../src/session-slots.ts';
import { gate } from '../../testing/src/index.ts';
import { addressKey } from '../../../src/protocol/address-key.ts';
import { EventReader, initializeRequest, postHeaders } from './raw-client.ts';

test.each([
  ['192.0.2.7', '192.0.2.7'],
  ['::ffff:192.0.2.7', '192.0.2.7'],
  ['0:0:0:0:0:FFFF:192.0.2.7', '192.0.2.7'],
  ['::ffff:c000:207', '192.0.2.7'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:DB8:1:2::9', '2001:db8:1:2::/64'],
  ['2001:db8:1:3::9', '2001:db8:1:3::/64'],
  ['2001:db8::9', '2001:db8:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ['not:an:address', 'not:an:address'],
  ['g:0:0:0:0:0:0:1', 'g:0:0:0:0:0:0:1'],
  ['10000:0:0:0:0:0:0:1', '10000:0:0:0:0:0:0:1'],
  [undefined, 'unknown'],
])('counts the address %s towards %s', (address, party) => {
  expect(addressKey(address)).toBe(party);
});

describe('SessionSlots', () => {
  function places(max: number) {
    const all = new SessionSlots<SlotHolder>(max, new MemoryBudget());
    const evicted: string[] = [];
    let usedAt = 0;
    const take = (name: string, priority: SlotPriority) => {
      const placed: SlotHolder = {
        ...{ account: all.accountOf(name), priority, usedAt: ++usedAt },
        evict: () => {
          evicted.push(`${name} ${priority} ${placed.usedAt}`);
          all.delete(placed);
        },
      };
      all.add(placed);
      return placed;
    };
    return { all, evicted, take };
  }

  test('evicts a listening session only if its client keeps at least as many as the newcomer', () => {
    const { all, evicted, take } = places(3);
    for (let at = 0; at < 2; at++) take('many', 'listening');
    take('one', 'listening');
    expect(all.evictFor('one')).toBe(false);
    expect(all.evictFor('none')).toBe(true);
    expect(evicted).toEqual(['many listening 1']);
  });

  test('evicts the least recently used session of the heaviest client', () => {
    const { all, evicted, take } = places(5);
    for (const name of ['few', 'many', 'many', 'many', 'few']) take(name, 'idle');
    expect(all.evictFor('none')).toBe(true);
    expect(evicted).toEqual(['many idle 2']);
  });

  test('keeps a session that was used again', () => {
    const { all, evicted, take } = places(2);
    const [first] = [take('one', 'idle'), take('one', 'idle')];
    Object.assign(first, { usedAt: 3 });
    expect(all.evictFor('none')).toBe(true);
    expect(evicted).toEqual(['one idle 2']);
  });

  test('drops the account of a client without sessions', () => {
    const { all, take } = places(3);
    const [first, second] = [take('one', 'idle'), take('one', 'idle')];
    const { account } = first;
    expect(second.account).toBe(account);
    all.delete(first);
    all.delete(first);
    expect([all.accountOf('one') === account, account.sessions]).toEqual([true, 1]);
    all.delete(second);
    expect(all.accountOf('one')).not.toBe(account);
  });
});

/** An endpoint, and requests to it from any address. */
function endpoint(options: HttpOptions, tools: readonly Tool[] = []) {
  const server = createMcpServer({ name: 'shared', version: '1', tools });
  const report = () => {};
  const handler = httpHandler(server, { report, session: { report }, ...options });
  return { handler, ...requestsTo(handler) };
}

function requestsTo(handler: HttpHandler) {
  const url = 'http://localhost/mcp';
  const send = (address: string, message: unknown, session?: string) => {
    const headers = { ...postHeaders, ...(session ? { 'mcp-session-id': session } : {}) };
    const request = new Request(url, { method: 'POST', headers, body: JSON.stringify(message) });
    return handler(request, { remoteAddress: address });
  };
  const greet = async (address: string) => {
    const begun = await send(address, initializeRequest());
    const session = begun.headers.get('mcp-session-id');
    if (session === null) return `${begun.status}`;
    await send(address, { jsonrpc: '2.0', method: 'notifications/initialized' }, session);
    return session;
  };
  const ping = async (address: string, session: string) =>
    (await send(address, { jsonrpc: '2.0', id: 1, method: 'ping' }, session)).status;
  const call = async (address: string, name: string, session: string) =>
    (
      await send(
        address,
        { jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name } },
        session,
      )
    ).text();
  const listen = async (address: string, path = '/mcp', session?: string) => {
    const headers: { [name: string]: string } = { accept: 'text/event-stream' };
    if (session !== undefined) headers['mcp-session-id'] = session;
    return handler(new Request(new URL(path, url), { headers }), { remoteAddress: address });
  };
  return { greet, ping, call, listen };
}

const addressesOf = (count: number) =>
  Array.from({ length: count }, (_, at) => `198.51.${at >> 8}.${at & 255}`);

describe('an endpoint without free slots', () => {
  test('keeps used sessions during a flood of initialize requests from many addresses [HTTP-10]', async () => {
    const { greet, ping } = endpoint({ limits: { maxSessions: 100 } });
    const honest = '192.0.2.1';
    // Several sessions, more than any flooding address has.
    const own = [await greet(honest), await greet(honest), await greet(honest)];
    for (const session of own) expect(await ping(honest, session)).toBe(200);
    let last = '';
    for (const [at, address] of addressesOf(800).entries()) {
      last = await greet(address);
      if (at % 50 === 0) expect(await ping(honest, own[0] ?? '')).toBe(200);
    }
    expect(await Promise.all(own.map((session) => ping(honest, session)))).toEqual([200, 200, 200]);
    // It started sessions at the cost of its own.
    expect(await ping(addressesOf(800)[799] ?? '', last)).toBe(200);
  });

  test('serves a newcomer during such a flood [HTTP-10]', async () => {
    const { greet, ping } = endpoint({ limits: { maxSessions: 20 } });
    for (const address of addressesOf(100)) await greet(address);
    const session = await greet('192.0.2.1');
    for (const address of addressesOf(19)) await greet(address);
    expect(await ping('192.0.2.1', session)).toBe(200);
  });

  test('evicts sessions of the same IPv6 network for all its addresses [HTTP-10]', async () => {
    const { greet, ping } = endpoint({ limits: { maxSessions: 4 } });
    const [honest, other] = ['192.0.2.1', '2001:db8::1'];
    const mine = await greet(honest);
    expect(await ping(honest, mine)).toBe(200);
    const sessions: string[] = [];
    for (let host = 0; host < 20; host++) {
      const address = `2001:db8:0:7::${host.toString(16)}`;
      const session = await greet(address);
      sessions.push(session);
      expect(await ping(address, session)).toBe(200);
    }
    const theirs = await greet(other);
    expect(await ping(honest, mine)).toBe(200);
    expect(await ping(other, theirs)).toBe(200);
    const open = sessions.map((session, host) =>
      ping(`2001:db8:0:7::${host.toString(16)}`, session),
    );
    expect((await Promise.all(open)).filter((status) => status === 200)).toHaveLength(2);
  });

  test('evicts one of many listening sessions of an address for a newcomer [HTTP-10]', async () => {
    const { greet, ping, listen } = endpoint({ limits: { maxSessions: 3 } });
    const streams: Response[] = [];
    for (let at = 0; at < 3; at++) {
      const session = await greet('198.51.100.1');
      streams.push(await listen('198.51.100.1', '/mcp', session));
    }
    expect(await greet('198.51.100.1')).toBe('503');
    const newcomer = await greet('192.0.2.1');
    expect(await ping('192.0.2.1', newcomer)).toBe(200);
    // Both now have nearly equally many.
    const second = await greet('192.0.2.2');
    expect(second).not.toBe('503');
    for (const { body } of streams) await body?.cancel();
  });

  test('keeps a session with a running call [HTTP-10]', async () => {
    const held = gate();
    const hold = defineTool({
      name: 'hold',
      description: 'Waits until it is let go',
      handler: async () => {
        await held.pass();
        return 'held';
      },
    });
    const { greet, call } = endpoint({ limits: { maxSessions: 2 } }, [hold]);
    const address = '198.51.100.1';
    const sessions = [await greet(address), await greet(address)];
    const calls = sessions.map((session) => call(address, 'hold', session));
    await held.arrived(2);
    expect(await greet('192.0.2.1')).toBe('503');
    held.release();
    for (const answer of await Promise.all(calls)) expect(answer).toContain('held');
    expect(await greet('192.0.2.1')).not.toBe('503');
  });

  test('applies the same rules to HTTP+SSE [HTTP-17]', async () => {
    const { listen, handler } = endpoint({ limits: { maxSessions: 3 }, sse: true });
    const statusOf = async (address: string) => (await listen(address, '/sse')).status;
    const flood = await Promise.all([1, 2, 3].map(() => statusOf('198.51.100.1')));
    expect([...flood, await statusOf('198.51.100.1')]).toEqual([200, 200, 200, 503]);
    expect(await statusOf('192.0.2.1')).toBe(200);
    expect(handler.sessions).toHaveLength(3);
    await handler.close(0);
    expect(handler.sessions).toEqual([]);
  });

  test('keeps used HTTP+SSE sessions during a flood from many addresses [HTTP-17]', async () => {
    const { listen, handler } = endpoint({ limits: { maxSessions: 10 }, sse: true });
    const stream = await listen('192.0.2.1', '/sse');
    const first = await new EventReader(stream).next();
    const target = new URL(String(first?.data), 'http://localhost/');
    const post = async (message: object) => {
      const body = JSON.stringify({ jsonrpc: '2.0', ...message });
      const request = new Request(target, { method: 'POST', headers: postHeaders, body });
      return (await handler(request, { remoteAddress: '192.0.2.1' })).status;
    };
    expect(await post(initializeRequest('2024-11-05'))).toBe(202);
    expect(await post({ id: 2, method: 'ping' })).toBe(202);
    for (const address of addressesOf(100))
      expect((await listen(address, '/sse')).status).toBe(200);
    expect(await post({ id: 3, method: 'ping' })).toBe(202);
    await handler.close(0);
  });
});
