import { content, createMcpServer, defineTool } from 'mcp-actors';
import { testClient } from 'mcp-actors/testing';
import { expect, test } from 'vitest';

/** More than one chunk of base64. */
const bytes = Uint8Array.from({ length: 60_001 }, (_, at) => at % 251);
const base64 = Buffer.from(bytes).toString('base64');

test('creates content blocks as sent to the client', async () => {
  const show = defineTool({
    name: 'show',
    description: 'Shows what there is',
    handler: () => [
      content.text('The plan:'),
      content.image(bytes, 'image/png'),
      content.audio(bytes.subarray(0, 4), 'audio/wav'),
      content.link({ uri: 'notes://plan', name: 'plan', mimeType: 'text/plain' }),
      content.resource({ uri: 'notes://plan', text: 'Begin.' }),
    ],
  });
  await using client = await testClient(
    createMcpServer({ name: 'a', version: '1', tools: [show] }),
  );
  expect((await client.callTool('show')).content).toEqual([
    { type: 'text', text: 'The plan:' },
    { type: 'image', data: base64, mimeType: 'image/png' },
    { type: 'audio', data: 'AAECAw==', mimeType: 'audio/wav' },
    { type: 'resource_link', uri: 'notes://plan', name: 'plan', mimeType: 'text/plain' },
    { type: 'resource', resource: { uri: 'notes://plan', text: 'Begin.' } },
  ]);
});

test('returns content.error as a result, even from a tool with an outputSchema', async () => {
  const outputSchema = { type: 'object', properties: { n: { type: 'number' } } } as const;
  const fail = defineTool({
    name: 'fail',
    description: 'Fails',
    outputSchema,
    handler: () => content.error('There is no plan'),
  });
  await using client = await testClient(
    createMcpServer({ name: 'a', version: '1', tools: [fail] }),
  );
  expect(await client.callTool('fail')).toMatchObject({ isError: true, text: 'There is no plan' });
});

test('rejects media without bytes or a MIME type and names the actual value', () => {
  expect(() => content.image(base64 as never, 'image/png')).toThrow(
    /content\.image: bytes must be a Uint8Array, got a string of 80004 characters/,
  );
  expect(() => content.audio(bytes, undefined as never)).toThrow(
    'content.audio: mimeType must be a string such as "audio/wav", got missing',
  );
});
