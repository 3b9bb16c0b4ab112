import { defineTool } from 'mcp-actors';
import { expect, test } from 'vitest';
import { eachRevisionAndHttp, everywhere } from './everywhere.ts';
import { echo, operate, serve, textOf, tool } from './serving.ts';

const icons = [{ src: 'data:image/png;base64,AAAA', mimeType: 'image/png', sizes: ['16x16'] }];

const described = defineTool({
  name: 'described',
  title: 'A title',
  description: 'What it is',
  icons,
  annotations: { readOnlyHint: true },
  _meta: { 'example.com/x': 1 },
  handler: () => 'done',
});

const annotations = { audience: ['user'], lastModified: '2025-01-12T15:00:58Z' };

everywhere('tools', eachRevisionAndHttp, ({ revision, transport }) => {
  const isTitled = revision >= '2025-06-18';

  test('declares tools with listChanged, even if there are none yet [TOOLS-08]', async () => {
    for (const tools of [[], [echo]]) {
      const { peer } = serve({ tools }, { transport });
      const { capabilities } = await peer.handshake({ protocolVersion: revision });
      expect(capabilities).toEqual({ tools: { listChanged: true } });
      expect(await peer.ask('tools/list')).toHaveProperty('tools.length', tools.length);
    }
  });

  test('declares no tools on a server without them [TOOLS-08] [LIFE-11]', async () => {
    const { peer } = serve({ prompts: [] }, { transport });
    const { capabilities } = await peer.handshake({ protocolVersion: revision });
    expect(capabilities).toEqual({ prompts: { listChanged: true } });
    for (const method of ['tools/list', 'tools/call']) {
      await expect(peer.ask(method, { name: 'echo' })).rejects.toMatchObject({
        error: { code: -32601 },
      });
    }
  });

  test('lists tools with the members of the revision [TOOLS-05]', async () => {
    const { peer } = await operate({ tools: [described] }, { revision, transport });
    expect(await peer.ask('tools/list')).toEqual({
      tools: [
        {
          name: 'described',
          description: 'What it is',
          inputSchema: { type: 'object', properties: {}, additionalProperties: false },
          ...(revision >= '2025-03-26' ? { annotations: { readOnlyHint: true } } : {}),
          ...(isTitled ? { title: 'A title', _meta: { 'example.com/x': 1 } } : {}),
          ...(revision >= '2025-11-25' ? { icons } : {}),
        },
      ],
    });
  });

  test('calls tools with arguments or none [TOOLS-09]', async () => {
    const { peer } = await operate({ tools: [echo, described] }, { revision, transport });
    expect(await peer.call('echo', { a: [1, { b: null }] })).toEqual({
      content: [{ type: 'text', text: '{"a":[1,{"b":null}]}' }],
    });
    expect(textOf(await peer.call('described'))).toBe('done');
  });

  test('returns content of every kind, as the revision supports it [TOOLS-10]', async () => {
    const image = { type: 'image', data: 'AAAA', mimeType: 'image/png' };
    const audio = { type: 'audio', data: 'AAAA', mimeType: 'audio/wav' };
    const link = { type: 'resource_link', uri: 'r://a', name: 'a', title: 'The A' };
    const resource = { type: 'resource', resource: { uri: 'r://a', blob: 'AAAA' }, annotations };
    const mixed = tool('mixed', () => [image, audio, link, resource]);
    const { peer } = await operate({ tools: [mixed] }, { revision, transport });
    const told = `[Audio, audio/wav: not supported by MCP ${revision}]`;
    const { audience } = annotations;
    expect(await peer.call('mixed')).toEqual({
      content: [
        image,
        revision >= '2025-03-26' ? audio : { type: 'text', text: told },
        isTitled ? link : { type: 'text', text: 'The A: r://a' },
        isTitled ? resource : { ...resource, annotations: { audience } },
      ],
    });
  });
});

test.each([
  [{ type: 'image', data: 'no base64', mimeType: 'image/png' }, '"data"'],
  [{ type: 'resource', resource: { uri: 'a://b' } }, '"text" or "blob"'],
  [{ type: 'resource', resource: { text: 'a' } }, '"uri"'],
])('fails a tool that returns %j, by its own fault [TOOLS-10] [FLOW-04]', async (block, named) => {
  const { peer, facts } = await operate({ tools: [tool('odd', () => [block])] });
  expect(await peer.call('odd')).toHaveProperty('isError', true);
  expect((await facts.next('handler.failed')).message).toContain(named);
});
