import { content, createMcpServer, defineTool } from 'mcp-actors';
import { testClient } from 'mcp-actors/testing';
import { expect, test } from 'vitest';

/** More than one chunk of base64. */
const bytes = Uint8Array.from({ length: 60_001 }, (_, at) => at % 251);
const base64 = Buffer.from(bytes).toString('base64');

test('the helpers make the blocks that a client gets', async () => {
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

test('an error is a result, of a tool with a schema for its results too', async () => {
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

test('what is no bytes, or has no type, is refused with what was given', () => {
  expect(() => content.image(base64 as never, 'image/png')).toThrow(
    /content\.image takes bytes, a Uint8Array; this is a string of 80004 characters/,
  );
  expect(() => content.audio(bytes, undefined as never)).toThrow(
    'content.audio takes the type after the bytes, such as "audio/wav"; this is missing',
  );
});
