import { once } from 'node:events';
import { Agent, request } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { expect, onTestFinished, test } from 'vitest';
import { laboratory } from '../../examples/lab/laboratory.ts';
import { post, serveHttp } from './serving.ts';

const initialize = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'keeper', version: '1' },
  },
};

test('a request without a body leaves its connection open, however soon it is answered', async () => {
  const url = await serveHttp(laboratory);
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  onTestFinished(() => agent.destroy());
  const begun = await post(url, initialize);
  const session = begun.headers.get('mcp-session-id') ?? '';
  const answers: unknown[] = [];
  for (const method of ['PUT', 'DELETE', 'DELETE']) {
    const sent = request(url, { method, agent, headers: { 'mcp-session-id': session } }).end();
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    response.resume();
    await once(response, 'end');
    answers.push([response.statusCode, response.headers.connection, sent.reusedSocket]);
  }
  expect(answers).toEqual([
    [405, 'keep-alive', false],
    [204, 'keep-alive', true],
    [404, 'keep-alive', true],
  ]);
});
