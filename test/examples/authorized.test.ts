/** The example of docs/authorization.md, with an authorization server. */
import { afterEach, expect, onTestFinished, test } from 'vitest';
import { connect } from '../../packages/client/src/index.ts';
import type { Connection } from '../../packages/client/src/index.ts';
import { launchHttp } from '../e2e/http-process.ts';
import { reapServers } from '../e2e/server-process.ts';
import { AuthorizationServer } from '../../packages/http/test/authorization-server.ts';
import { program } from '../tooling/programs.ts';

afterEach(reapServers);

test('requires tokens of the issuer for this server, with the scopes of each tool', async () => {
  const issuer = await AuthorizationServer.start();
  onTestFinished(() => issuer.close());
  const { url } = await launchHttp(program('examples/http/authorized.ts'), {
    env: { PORT: '0', ISSUER: issuer.issuer },
  });
  const connectWith = async (scope: string, aud = 'https://mcp.example.com/mcp') => {
    const token = await issuer.issue({ aud, scope });
    const auth = { kind: 'bearer' as const, token: () => token };
    const connection = await connect({ url: url.href }, { auth });
    onTestFinished(() => connection.close());
    return connection;
  };
  const anonymous = await fetch(url, { method: 'POST', body: '{}' });
  expect(anonymous.status).toBe(401);
  expect(anonymous.headers.get('www-authenticate')).toContain('scope="notes:read"');
  await expect(connectWith('notes:read', 'https://other.example.com/')).rejects.toThrow('401');
  const reader = await connectWith('notes:read');
  expect(await textOf(reader, 'count_notes')).toBe('ada has 1');
  await expect(textOf(reader, 'clear_notes')).rejects.toThrow('403');
  const writer = await connectWith('notes:read notes:write');
  expect(await textOf(writer, 'clear_notes')).toBe('Deleted');
  expect(await textOf(reader, 'count_notes')).toBe('ada has 0');
});

async function textOf(connection: Connection, tool: string): Promise<string> {
  const { content } = await connection.callTool(tool);
  return content.map((block) => (block.type === 'text' ? block.text : '')).join('');
}
