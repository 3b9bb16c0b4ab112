/** Answers on an event stream that belong to a call and cannot be read. */
import { connect } from 'mcp-actors/client';
import { expect, onTestFinished, test } from 'vitest';
import { greeted, scriptedServer } from './scripted-server.ts';

test.each([
  ['no JSON', '{"jsonrpc":"2.0","id":$ID,"result":{"a":NaN}}'],
  ['followed by another message', '{"jsonrpc":"2.0","id":$ID,"result":{}}{"jsonrpc":"2.0"}'],
  ['with its id as a string', '{"jsonrpc":"2.0","id":"$ID","result":{}}'],
])('an answer on a stream that is %s fails its call at once', async (_, data) => {
  const server = await scriptedServer((asked) => {
    const { response, message } = asked;
    if (message?.method !== 'ping') return greeted(asked);
    asked.stream();
    // The stream stays open.
    return response.write(`data: ${data.replace('$ID', String(message?.['id']))}\n\n`);
  });
  const connection = await connect({ url: server.url.href }, { era: 'legacy', report: () => {} });
  onTestFinished(() => connection.close());
  await expect(connection.ping()).rejects.toMatchObject({ code: 'INVALID_RESPONSE' });
});
