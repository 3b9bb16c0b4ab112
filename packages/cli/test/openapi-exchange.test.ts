/** `serve --openapi --openapi-exchange`: an API gets a token of its own, on behalf of the caller. */
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { AuthorizationServer } from '../../http/test/authorization-server.ts';
import { ask } from '../../http/test/modern/modern-client.ts';
import { serveEndpoint } from '../../http/test/serving.ts';
import { temporaryDirectory } from '../../roots/test/temporary-directory.ts';
import { serveApi, shop } from '../../openapi/test/shop.ts';
import { openApiServer } from '../src/serve-openapi.ts';

test('an API gets a token of its own, and never that of the caller', async () => {
  const issuer = await AuthorizationServer.start({ tokens: 'opaque' });
  const { asked, server } = await serveApi(() => ({ body: '{"name":"a pen","price":2}' }));
  const folder = await temporaryDirectory({ 'api.json': JSON.stringify(shop) });
  const wish = {
    document: join(folder, 'api.json'),
    server,
    headers: { 'x-key': 'k' },
    query: {},
    checkResponses: true,
  };
  const mcp = await openApiServer(
    { ...wish, exchange: 'the shop', include: ['tag:items'], exclude: ['DELETE'] },
    () => {},
  );
  onTestFinished(async () => {
    await issuer.close();
  });
  const { url } = await serveEndpoint(mcp, ({ href }) => ({
    authorization: {
      issuer: issuer.issuer,
      audience: href,
      introspection: issuer.introspector,
      tokenExchange: issuer.exchanger,
      limits: { fetchTimeoutMs: 60_000 },
    },
  }));
  const token = await issuer.issue({ aud: url.href });
  const params = { name: 'getItem', arguments: { id: '1' } };
  const { result } = await ask(url, 'tools/call', params, {
    headers: { authorization: `Bearer ${token}` },
  });
  expect(result).toMatchObject({ structuredContent: { name: 'a pen', price: 2 } });
  const [request] = asked;
  expect(request?.headers).toMatchObject({
    'x-key': 'k',
    authorization: expect.stringMatching(/^Bearer .+/) as string,
  });
  expect(JSON.stringify(asked)).not.toContain(token);
  expect(issuer.received.join('\n')).toContain('audience=the+shop');
});
