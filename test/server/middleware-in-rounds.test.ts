/** Middleware stands around the run of a handler, and that may serve several requests. */
import { createMcpServer, defineTool } from 'mcp-actors';
import type { JsonObject } from 'mcp-actors';
import { scriptedConversation, flush } from 'mcp-actors/testing';
import type { ConversationOptions } from 'mcp-actors/testing';
import { expect, onTestFinished, test } from 'vitest';
import { everything, modernPeer } from './modern-peer.ts';

const schema = { type: 'object', properties: { name: { type: 'string' } } } as const;

const greet = defineTool({
  name: 'greet',
  description: 'Asks.',
  handler: async (_, context) => {
    const answer = await context.elicit({ message: 'Who?', schema });
    return answer.action === 'accept' ? `Hello ${answer.content.name}` : answer.action;
  },
});
const call: JsonObject = { name: 'greet', arguments: {} };

/** A client of a server whose middleware tells what passes it. */
function watched(options: ConversationOptions = {}) {
  const seen: string[] = [];
  const server = createMcpServer({ name: 'server', version: '1', tools: [greet] });
  server.use(async ({ context }, next) => {
    seen.push(`${context.requestId} begins`);
    try {
      const { content } = await next();
      seen.push(`${context.requestId} gives ${JSON.stringify(content)}`);
      return { content };
    } catch (error) {
      seen.push(`${context.requestId} fails`);
      throw error;
    }
  });
  const { peer, session } = scriptedConversation(server, options);
  onTestFinished(async () => {
    session.shutdown('the test is over');
    await session.closed;
  });
  const { ask } = modernPeer(peer);
  const answered = ({ requestState, inputRequests }: JsonObject) => {
    const [key = ''] = Object.keys(inputRequests as object);
    const answer = { action: 'accept', content: { name: 'Ada' } };
    const retry = { ...call, requestState, inputResponses: { [key]: answer } };
    return ask('tools/call', retry, everything);
  };
  return { seen, ask, answered };
}

const hello = JSON.stringify([{ type: 'text', text: 'Hello Ada' }]);

test('middleware wraps a suspended call once, from the first request to the result of the retry', async () => {
  const { seen, ask, answered } = watched();
  const asking = await ask('tools/call', call);
  expect(asking['resultType']).toBe('input_required');
  expect(seen).toEqual(['1 begins']);
  expect(await answered(asking)).toMatchObject({ content: [{ text: 'Hello Ada' }] });
  expect(seen).toEqual(['1 begins', `2 gives ${hello}`]);
});

test('middleware wraps each run of a replayed handler, and the run that asked fails', async () => {
  const { seen, ask, answered } = watched({ resume: 'replay' });
  const asking = await ask('tools/call', call);
  await flush();
  expect(seen).toEqual(['1 begins', expect.stringMatching(/^1 (fails|gives .*CANCELLED)/)]);
  expect(await answered(asking)).toMatchObject({ content: [{ text: 'Hello Ada' }] });
  expect(seen.slice(2)).toEqual(['2 begins', `2 gives ${hello}`]);
});
