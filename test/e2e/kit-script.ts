/** A plain script that waits with the test kit: for the effect of a session's timer, or in vain. */
import { createMcpServer, defineTool } from 'mcp-actors';
import { testClient, scriptedConversation } from 'mcp-actors/testing';

const ask = defineTool({
  name: 'ask',
  description: 'Asks the client',
  handler: async (_, context) => {
    const question = context.request('custom/question', {}, { timeoutMs: 50 });
    return await question.then(JSON.stringify, ({ code }: { code: string }) => code);
  },
});
const server = createMcpServer({ name: 'awaited', version: '1', tools: [ask] });
const never = () => new Promise<never>(() => {});
const say = (words: object): void => console.error(JSON.stringify(words));

const scenes: { readonly [what: string]: () => Promise<void> } = {
  'a keepalive': async () => {
    const { peer, session } = scriptedConversation(server, { limits: { keepaliveIntervalMs: 50 } });
    await peer.handshake();
    say({ came: (await peer.request('ping')).method });
    peer.end();
    await session.closed;
  },
  'a deadline': async () => {
    const client = await testClient(server, { answers: { 'custom/question': never } });
    say({ came: (await client.callTool('ask')).text });
    await client.close();
  },
  'nothing, with a session left open': async () => {
    await testClient(server, { limits: { keepaliveIntervalMs: 50 } });
    say({ came: 'nothing' });
  },
  'what cannot come': async () => {
    const client = await testClient(server);
    await client.nextNotification('notifications/never');
  },
};

await scenes[process.argv[2] ?? '']?.();
