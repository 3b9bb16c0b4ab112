/** A connection that logs in: what its host sees of it, in both eras. */
import { connect, memoryCredentialStore, openConnection } from 'mcp-actors/client';
import type { ConnectionEvent } from 'mcp-actors/client';
import { TestClock, gate } from 'mcp-actors/testing';
import { describe, expect, onTestFinished, test } from 'vitest';
import { agree, person, startProtected } from './protected-server.ts';

describe.each(['legacy', 'modern'] as const)('a connection to a %s server', (era) => {
  test('logs in, and calls what needs more scopes', async () => {
    const { issuer, url } = await startProtected();
    const { visit, scopes } = person();
    await using connection = await connect({ url: url.href }, { era, auth: { visit } });
    const result = await connection.callTool('write', {});
    expect(result.content).toEqual([{ type: 'text', text: 'write' }]);
    expect(scopes).toEqual(['notes:read', 'notes:read notes:write']);
    expect(issuer.count('/token')).toBe(2);
  });

  test('tells the URL, and waits for the person longer than a server may take', async () => {
    const { url } = await startProtected();
    const away = gate();
    const visit = async (where: URL) => {
      await away.pass();
      return await agree(where);
    };
    const clock = new TestClock();
    const connection = openConnection(
      { url: url.href },
      { era, auth: { visit }, clock, limits: { connectTimeoutMs: 10_000 } },
    );
    onTestFinished(() => connection.close());
    const events: ConnectionEvent[] = [];
    connection.events$.subscribe((event) => void events.push(event));
    await away.arrived();
    // Longer than it may take to be ready.
    clock.increment(60_000);
    expect(connection.state.value).toBe('connecting');
    away.release();
    expect(await connection.ready()).toMatchObject({ era });
    expect(events.filter(({ type }) => type === 'authorize')).toEqual([
      { type: 'authorize', url: expect.stringContaining('/authorize?response_type=code') },
    ]);
  });

  test('tells which code a person enters on another device', async () => {
    const { issuer, url } = await startProtected();
    const connection = openConnection({ url: url.href }, { era, auth: { device: true } });
    onTestFinished(() => connection.close());
    connection.ready().catch(() => {});
    const event = await new Promise<ConnectionEvent>((resolve) => {
      connection.events$.subscribe((each) => each.type === 'authorize' && resolve(each));
    });
    expect(event).toMatchObject({
      url: `${issuer.issuer}/enter?user_code=CODE-1`,
      device: { verificationUri: `${issuer.issuer}/enter`, userCode: 'CODE-1' },
    });
  });

  test('fails without a way to log in, and says so', async () => {
    const { url } = await startProtected();
    await expect(connect({ url: url.href }, { era })).rejects.toMatchObject({
      code: 'UNAUTHORIZED',
    });
  });

  test('fails when the person declines, and is not made again by itself', async () => {
    const { url } = await startProtected();
    const { visit, scopes } = person();
    const changed = async (where: URL) =>
      `${await visit(where)}x`.replace(/state=[^&]*/, 'state=x');
    const store = memoryCredentialStore();
    const options = { era, auth: { visit: changed, store } };
    await expect(connect({ url: url.href }, options)).rejects.toMatchObject({
      code: 'UNAUTHORIZED',
      message: expect.stringContaining('"state"'),
    });
    expect(scopes).toHaveLength(1);
  });
});

test('a visit has the time that it is given, and the login a little more', async () => {
  const { url } = await startProtected();
  const away = gate();
  const visit = async (where: URL) => {
    await away.pass();
    return await agree(where);
  };
  const clock = new TestClock();
  const auth = { visit, visitTimeoutMs: 20 * 60_000 };
  const connection = openConnection({ url: url.href }, { auth, clock });
  onTestFinished(() => connection.close());
  await away.arrived();
  clock.increment(20 * 60_000 - 1);
  expect(connection.state.value).toBe('connecting');
  away.release();
  expect(await connection.ready()).toMatchObject({ info: expect.any(Object) as object });
});

test('a login that has less time than its visit is refused', () => {
  const auth = { visitTimeoutMs: 60_000 };
  const options = { auth, limits: { loginTimeoutMs: 59_999 } };
  expect(() => openConnection({ url: 'https://mcp.example.com/mcp' }, options)).toThrow(
    'limits.loginTimeoutMs must be at least auth.visitTimeoutMs (60000), got 59999',
  );
});

test('a connection to where no token may go is refused before anything is sent', async () => {
  const options = { auth: true, allowInsecure: true };
  await expect(connect({ url: 'http://mcp.example.com/mcp' }, options)).rejects.toMatchObject({
    code: 'CONFIG_INVALID',
    message: expect.stringContaining(
      'the server URL must use https:// (or http:// on loopback), got http://mcp.example.com',
    ),
  });
});
