/** `mcp-actors login`, `logins` and `logout`, from a shell to a real authorization server. */
import { nodeHandler } from 'mcp-actors/http/node';
import { createMcpServer } from 'mcp-actors';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { startProtected } from '../../../client/test/auth/protected-server.ts';
import { runCommand, startCommand, temporaryFolder } from './client-command.ts';

test('a person logs in on another device, sees the login, uses it, and logs out', async () => {
  const { issuer, url } = await startProtected();
  issuer.device = { interval: 1, expires_in: 600 };
  const home = temporaryFolder();
  const started = startCommand(['login', '--device', url.href], home);
  await started.shows('Waiting until');
  issuer.decide('CODE-1', 'agreed');
  const { code, stdout, stderr } = await started.ended;
  expect(stderr.replaceAll('mcp-actors login: ', '')).toMatch(
    new RegExp(
      [
        `^${url.host} requires a login. Open this URL on any device:`,
        `${issuer.issuer}/enter`,
        'and enter the code CODE-1',
        `Or open this URL, and check that it shows the same code: ${issuer.issuer}/enter\\?user_code=CODE-1`,
        'Waiting until \\d\\d:\\d\\d:\\d\\d \\(10 min\\)\n$',
      ].join('\n'),
    ),
  );
  const shown = new RegExp(
    `${url.href}\n  valid   until [-\\d]{10} [:\\d]{8}, \\d+ min from now, renewed automatically\n  scopes  notes:read\n  issuer  ${issuer.issuer}\n$`,
  );
  expect([code, stdout]).toEqual([0, expect.stringMatching(shown)]);
  expect((await runCommand(['logins'], '', home)).stdout).toMatch(shown);
  const [login = ''] = (await runCommand(['logins', '--json'], '', home)).stdout.split('\n');
  expect(JSON.parse(login)).toMatchObject({ server: url.href, isRenewable: true });
  expect(login).not.toMatch(/token/i);
  const called = await runCommand(['call', '--login', url.href, 'read'], '', home);
  expect(called).toMatchObject({ code: 0, stdout: 'read\n' });
  const out = await runCommand(['logout', url.href], '', home);
  expect([out.code, out.stdout]).toEqual([
    0,
    `Logged out from ${url.href}: its tokens were revoked\n`,
  ]);
  expect(issuer.count('/revoke')).toBe(2);
  const again = await runCommand(['logout', url.href], '', home);
  expect([again.code, again.stderr]).toEqual([1, `mcp-actors logout: No login for ${url.href}\n`]);
});

test('a login that is not possible says why, and with which code', async () => {
  const { issuer, url } = await startProtected();
  issuer.metadata = (own) => ({ ...own, device_authorization_endpoint: undefined });
  const device = await runCommand(['login', '--device', url.href]);
  expect([device.code, device.stderr]).toEqual([
    5,
    `mcp-actors login: The authorization server ${issuer.issuer} does not support device logins (RFC 8628): log in with a browser\n`,
  ]);
  const open = createServer();
  await new Promise<void>((resolve) => open.listen(0, '127.0.0.1', resolve));
  const handler = nodeHandler(createMcpServer({ name: 'open', version: '1' }));
  open.on('request', handler);
  onTestFinished(async () => {
    await handler.close();
    open.closeAllConnections();
    await new Promise((resolve) => open.close(resolve));
  });
  const where = `http://127.0.0.1:${(open.address() as AddressInfo).port}/mcp`;
  const none = await runCommand(['login', where]);
  expect([none.code, none.stderr]).toEqual([
    1,
    `mcp-actors login: ${where} requires no login: it answers without a token\n`,
  ]);
  const folder = join(temporaryFolder(), 'none');
  expect(await runCommand(['logins', '--store', folder])).toMatchObject({
    code: 0,
    stdout: 'No logins. Log in with mcp-actors login URL.\n',
  });
  for (const args of [[], ['a', 'b'], ['file:///etc/passwd']]) {
    expect((await runCommand(['login', ...args])).code).toBe(2);
  }
});
