/** The laboratory with `--auth-*`: requires tokens of its issuer. */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { afterEach, expect, onTestFinished, test } from 'vitest';
import { AutoApprovingClient } from '../../packages/http/test/auth/oauth-client.ts';
import { AuthorizationServer } from '../../packages/http/test/authorization-server.ts';
import { program } from '../tooling/programs.ts';
import { modern, textOf } from './both-eras-client.ts';
import { freePort } from '../tooling/free-port.ts';
import { launchHttp } from './http-process.ts';
import { reapServers } from './server-process.ts';

afterEach(reapServers);

async function launchGuarded() {
  const issuer = await AuthorizationServer.start();
  onTestFinished(() => issuer.close());
  // Tokens name the address before the process listens on it.
  const port = await freePort();
  const audience = `http://127.0.0.1:${port}/mcp`;
  const { url } = await launchHttp(
    [
      ...program('examples/lab/http.ts'),
      ...['--auth-issuer', issuer.issuer, '--auth-audience', audience],
      ...['--auth-scope', 'lab:use'],
    ],
    { env: { PORT: String(port) } },
  );
  return { issuer, url };
}

test.each([
  ['2025-11-25', 'legacy'],
  ['2026-07-28', modern],
] as const)(
  'lets the official client of %s find the issuer, get a token, and call',
  async (_, mode) => {
    const { issuer, url } = await launchGuarded();
    const person = new AutoApprovingClient();
    const open = () => new StreamableHTTPClientTransport(url, { authProvider: person });
    const make = () =>
      new Client({ name: 'guest', version: '1' }, { versionNegotiation: { mode } });
    const refused = open();
    await expect(make().connect(refused)).rejects.toThrow();
    await refused.finishAuth(person.callback);
    const client = make();
    await client.connect(open());
    onTestFinished(() => client.close());
    const answer = await client.callTool({ name: 'echo', arguments: { message: 'let in' } });
    expect(textOf(answer)).toContain('let in');
    expect(person.asked).toEqual(['lab:use']);
    // A token for another audience is invalid here.
    person.present(await issuer.issue({ aud: 'https://other.example/mcp', scope: 'lab:use' }));
    person.forgetRefreshToken();
    await expect(client.callTool({ name: 'echo', arguments: { message: 'x' } })).rejects.toThrow();
  },
);
