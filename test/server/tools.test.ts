import { ToolError, defineTool } from 'mcp-actors';
import { toolCall } from 'mcp-actors/testing';
import { describe, expect, test } from 'vitest';
import { eachRevision, everywhere } from '../contract/everywhere.ts';
import { operate, serve, textOf, tool } from '../contract/serving.ts';

const measure = defineTool({
  name: 'measure',
  title: 'Measure a text',
  description: 'Counts characters',
  annotations: { title: 'Measure', readOnlyHint: true },
  inputSchema: {
    type: 'object',
    properties: { text: { type: 'string' }, times: { type: 'integer', default: 1 } },
    required: ['text'],
    additionalProperties: false,
  },
  outputSchema: {
    type: 'object',
    properties: { length: { type: 'integer' } },
    required: ['length'],
  },
  handler: ({ text, times }) => ({ structured: { length: text.length * Number(times) } }),
});

const knowsStructure = (revision: string) => revision >= '2025-06-18';

everywhere('tools', eachRevision, ({ revision }) => {
  test('lists tools with exactly the members of the revision [TOOLS-05]', async () => {
    const { peer } = await operate({ tools: [measure] }, { revision });
    const { tools } = (await peer.ask('tools/list')) as { tools: readonly object[] };
    const { name, title, description, annotations, inputSchema, outputSchema } = measure;
    expect(tools).toEqual([
      {
        name,
        description,
        inputSchema,
        ...(revision >= '2025-03-26' ? { annotations } : {}),
        ...(knowsStructure(revision) ? { title, outputSchema } : {}),
      },
    ]);
  });

  test('returns structured content with its text, or only the text, depending on the revision [TOOLS-04]', async () => {
    const { peer } = await operate({ tools: [measure] }, { revision });
    expect(await peer.call('measure', { text: 'four' })).toEqual({
      content: [{ type: 'text', text: '{"length":4}' }],
      ...(knowsStructure(revision) ? { structuredContent: { length: 4 } } : {}),
    });
  });

  test('rejects arguments that violate the inputSchema [TOOLS-02]', async () => {
    const { peer } = await operate({ tools: [measure] }, { revision });
    for (const args of [undefined, {}, { text: 4 }, { text: 'a', other: 1 }]) {
      const refused = peer.call('measure', args);
      if (revision < '2025-11-25') {
        await expect(refused).rejects.toMatchObject({ error: { code: -32602 } });
      } else {
        const result = await refused;
        expect(result['isError']).toBe(true);
        expect(textOf(result)).toMatch(/invalid arguments/i);
      }
    }
  });

  test('answers unknown tools and malformed calls with -32602 [TOOLS-01]', async () => {
    const { peer } = await operate({ tools: [measure] }, { revision });
    const senseless = [
      { name: 'unknown' },
      { name: 'Measure' },
      { name: 7 },
      {},
      { name: 'measure', arguments: 'text' },
      { name: 'measure', arguments: [] },
    ];
    for (const params of senseless) {
      await expect(peer.ask('tools/call', params)).rejects.toMatchObject({
        error: { code: -32602 },
      });
    }
    await expect(peer.ask('tools/call')).rejects.toMatchObject({ error: { code: -32602 } });
    await expect(peer.call('unknown')).rejects.toThrow('measure');
  });

  test('suggests the closest name and a bounded list for an unknown tool', async () => {
    const tools = Array.from({ length: 1000 }, (_, at) => ({ ...measure, name: `tool_${at}` }));
    const { peer } = await operate({ tools: [measure, ...tools] }, { revision });
    const told = async (name: string) => {
      const refused = { error: { message: '' } };
      await peer
        .ask('tools/call', { name })
        .catch((error: object) => Object.assign(refused, error));
      return refused.error.message;
    };
    expect(await told('mesure')).toMatch(
      /unknown tool "mesure" \(did you mean measure\?\); this server has measure, tool_0, .* and 981 more$/,
    );
    expect(await told('xyz')).toMatch(/unknown tool "xyz"; this server has measure, tool_0/);
    expect(await told('measure'.repeat(1000))).toMatch(/a string of 7000 characters; this server/);
  });

  test('rejects a cursor that was never issued [TOOLS-07]', async () => {
    const { peer } = await operate({ tools: [measure] }, { revision });
    for (const cursor of ['next', '', 7]) {
      await expect(peer.ask('tools/list', { cursor })).rejects.toMatchObject({
        error: { code: -32602 },
      });
    }
    expect(await peer.ask('tools/list', {})).toHaveProperty('tools');
    expect(await peer.ask('tools/list', { cursor: null })).toHaveProperty('tools');
  });
});

everywhere('a tool', eachRevision, ({ revision }) => {
  test('passes schema defaults to the handler [TOOLS-02]', async () => {
    const { peer } = await operate({ tools: [measure] });
    expect(textOf(await peer.call('measure', { text: 'ab', times: 3 }))).toBe('{"length":6}');
    expect(textOf(await peer.call('measure', { text: 'ab' }))).toBe('{"length":2}');
  });

  test('fails a tool whose result violates its outputSchema [TOOLS-04]', async () => {
    const wrong = defineTool({
      name: 'wrong',
      description: 'Breaks its own word',
      inputSchema: { type: 'object' },
      outputSchema: { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] },
      handler: (args) => {
        const { give } = args as { readonly give?: string };
        // The types forbid both; a handler may be written in JavaScript.
        return (give === 'nothing' ? 'text alone' : { structured: { n: 'one' } }) as never;
      },
    });
    const { peer, facts } = await operate({ tools: [wrong] });
    for (const give of ['nothing', 'something']) {
      const result = await peer.call('wrong', { give });
      expect(result).toHaveProperty('isError', true);
      expect(textOf(result)).toContain('outputSchema');
      expect((await facts.next('handler.failed')).message).toContain('outputSchema');
    }
  });

  test('allows an error result without structured content [TOOLS-03] [TOOLS-04]', async () => {
    const fails = defineTool({
      ...measure,
      name: 'fails',
      handler: () => Promise.reject(new ToolError('Nothing there', { code: 'NOT_FOUND' })),
    });
    const { peer } = await operate({ tools: [fails] });
    expect(await peer.call('fails', { text: '' })).toEqual({
      content: [{ type: 'text', text: 'NOT_FOUND: Nothing there' }],
      isError: true,
    });
  });

  test('accepts text, blocks, or a complete result with _meta [TOOLS-03]', async () => {
    const image = { type: 'image', data: 'AAAA', mimeType: 'image/png' } as const;
    const outputs = {
      text: 'plain',
      blocks: [image],
      result: { content: [image], structured: { n: 1 }, isError: true, _meta: { 'x/y': 1 } },
    };
    const any = tool('any', ({ kind }) => outputs[kind as keyof typeof outputs]);
    const { peer } = await operate({ tools: [any] });
    expect(await peer.call('any', { kind: 'text' })).toEqual({
      content: [{ type: 'text', text: 'plain' }],
    });
    expect(await peer.call('any', { kind: 'blocks' })).toEqual({ content: [image] });
    expect(await peer.call('any', { kind: 'result' })).toEqual({
      content: [image],
      ...(knowsStructure(revision) ? { structuredContent: { n: 1 } } : {}),
      isError: true,
      _meta: { 'x/y': 1 },
    });
  });

  test('exposes the client and the request id to the handler [LIFE-01]', async () => {
    const look = tool('look', (_, { client, requestId }) =>
      JSON.stringify([client.info.name, client.dialect.version, requestId]),
    );
    const { peer } = serve({ tools: [look] });
    await peer.handshake({ clientInfo: { name: 'someone', version: '2' } });
    peer.send(toolCall(0, 'look'));
    expect(textOf((await peer.response(0)).result)).toBe(JSON.stringify(['someone', revision, 0]));
  });
});

describe('a tool name', () => {
  test.each(['', ' ', 'a b', 'ä', 'a/b', 'x'.repeat(129)])('cannot be %j [TOOLS-06]', (name) => {
    expect(() => tool(name, () => '')).toThrow(TypeError);
  });

  test.each(['a', 'A-z_0.9', 'x'.repeat(128)])('can be %j [TOOLS-06]', (name) => {
    expect(tool(name, () => '').name).toBe(name);
  });
});

describe('tool names', () => {
  test('are unique and case-sensitive [TOOLS-11]', async () => {
    const { peer, server } = await operate({
      tools: [tool('say', () => 'small'), tool('Say', () => 'big')],
    });
    expect(textOf(await peer.call('say'))).toBe('small');
    expect(textOf(await peer.call('Say'))).toBe('big');
    await expect(peer.call('SAY')).rejects.toMatchObject({ error: { code: -32602 } });
    expect(() => server.tools.add(tool('say', () => 'another'))).toThrow(/"say" already/);
    expect(textOf(await peer.call('say'))).toBe('small');
  });
});
