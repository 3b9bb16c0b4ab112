/** `mcp-actors call --login`: what a person is told, and the clients that somebody has registered. */
import { writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { createServer, get } from 'node:http';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { agree, startProtected } from '../../../client/test/auth/protected-server.ts';
import { freePort } from '../../../../test/tooling/free-port.ts';
import { runCommand, startCommand, temporaryFolder } from './client-command.ts';
import type { StartedCommand } from './client-command.ts';

/** No browser opens, as on a machine without a screen. */
const noBrowser = { BROWSER: '/nowhere/browser' };

/** Does what a person does with the URL that the command has written. */
async function visit({ shows, errors }: StartedCommand): Promise<URL> {
  await shows('Waiting for the browser');
  const [url = ''] =
    /^http\S+\/authorize\?\S+$/m.exec(errors().replaceAll('mcp-actors call: ', '')) ?? [];
  const back = await agree(new URL(url));
  // `fetch` says that it is a page's doing, and is turned away.
  await once(get(back), 'response');
  return new URL(url);
}

describe('a login without a browser', () => {
  test('shows its URL at once, and until when it is waited for', async () => {
    const { url } = await startProtected();
    const home = temporaryFolder();
    const started = startCommand(['call', url.href, 'read', '--login'], home, noBrowser);
    const visited = await visit(started);
    const { code, stdout, stderr } = await started.ended;
    expect([code, stdout]).toEqual([0, 'read\n']);
    expect(stderr).toContain(`${url.host} requires a login. Open this URL`);
    const back = visited.searchParams.get('redirect_uri') ?? '';
    expect(stderr).toContain(`Waiting for the browser to return to ${back} until `);
    expect(stderr).toMatch(/until \d\d:\d\d:\d\d \(5 min\)\n/);
    expect(stderr.match(/\/authorize\?/g)).toHaveLength(1);
  });
});

describe('an issuer that registers nobody by itself', () => {
  async function protectedWithout() {
    const port = await freePort();
    const { issuer, url } = await startProtected();
    const client = { clientId: 'registered-by-hand', clientSecret: 'kept-by-the-person' };
    issuer.admit(client, [`http://127.0.0.1:${port}/callback`]);
    issuer.metadata = ({ registration_endpoint: _, ...own }: { registration_endpoint?: string }) =>
      own;
    return { port, issuer, url, client };
  }

  test('takes the client of the command line, and its port', async () => {
    const { port, issuer, url, client } = await protectedWithout();
    const options = [
      ...['--login', '--client-id', client.clientId, '--client-secret-env', 'NOTES_SECRET'],
      ...['--callback-port', String(port)],
    ];
    const started = startCommand(['call', url.href, 'read', ...options], temporaryFolder(), {
      ...noBrowser,
      NOTES_SECRET: client.clientSecret,
    });
    const visited = await visit(started);
    expect(visited.searchParams.get('client_id')).toBe(client.clientId);
    expect(visited.searchParams.get('redirect_uri')).toBe(`http://127.0.0.1:${port}/callback`);
    const { code, stdout, stderr } = await started.ended;
    expect([code, stdout]).toEqual([0, 'read\n']);
    expect(stderr).not.toContain(client.clientSecret);
    // The stand-in gives no token to this client without its secret.
    expect(issuer.count('/token')).toBe(1);
  });

  test('takes the client of the file, whose secret is a variable', async () => {
    const { port, url, client } = await protectedWithout();
    const home = temporaryFolder();
    const file = join(home, 'mcp.json');
    const oauth = {
      clientId: client.clientId,
      clientSecret: '${NOTES_SECRET}',
      callbackPort: port,
    };
    writeFileSync(file, JSON.stringify({ mcpServers: { notes: { url: url.href, oauth } } }));
    const started = startCommand(['call', file, 'notes__read', '--login'], home, {
      ...noBrowser,
      NOTES_SECRET: client.clientSecret,
    });
    expect((await visit(started)).searchParams.get('client_id')).toBe(client.clientId);
    expect(await started.ended).toMatchObject({ code: 0, stdout: 'read\n' });
  });

  test('says which port is taken', async () => {
    const { port, url, client } = await protectedWithout();
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(port, '127.0.0.1', resolve));
    onTestFinished(() => void other.close());
    const options = ['--login', '--client-id', client.clientId, '--callback-port', String(port)];
    const { code, stderr } = await runCommand(['call', url.href, 'read', ...options]);
    expect([code, stderr]).toEqual([
      5,
      expect.stringContaining(
        `listening on http://127.0.0.1:${port}/callback failed: the port is in use`,
      ),
    ]);
  });
});

test.each([
  [['--client-id', 'a'], '--client-id needs --login'],
  [
    ['--login', '--client-secret-env', 'NOT_SET_ANYWHERE', '--client-id', 'a'],
    'the variable "NOT_SET_ANYWHERE" is not set',
  ],
  [['--login', '--client-metadata-url', 'http://h/c'], 'is not an https:// URL with a path'],
])('%j is refused before anything is sent', async (options, fault) => {
  const { code, stderr } = await runCommand(['call', 'https://h.invalid/mcp', 'read', ...options]);
  expect([code, stderr]).toEqual([2, expect.stringContaining(fault)]);
});

describe('a refusal says what the challenge says:', () => {
  test('a login that nobody has allowed', async () => {
    const { url } = await startProtected();
    const { code, stderr } = await runCommand(['call', url.href, 'read']);
    expect(code).toBe(5);
    expect(stderr).toContain('it requires a login with the scope "notes:read"');
    expect(stderr).toContain('set "auth" (--login of the command)');
  });

  test('a token that is refused', async () => {
    const { url } = await startProtected();
    const header = ['--header', 'Authorization: Bearer not-a-token-of-it'];
    const { code, stderr } = await runCommand(['call', url.href, 'read', ...header]);
    expect(code).toBe(5);
    expect(stderr).toContain('it rejected the configured "Authorization" header (invalid_token');
  });

  test('a scope that the token lacks', async () => {
    const { url, issuer } = await startProtected();
    const token = await issuer.issue({ aud: url.href, scope: 'notes:read' });
    const header = ['--header', `Authorization: Bearer ${token}`];
    const { code, stderr } = await runCommand(['call', url.href, 'write', ...header]);
    expect(code).toBe(5);
    expect(stderr).toMatch(/the token lacks the scope "[^"]*notes:write/);
    expect(stderr).not.toContain(token);
  });
});
