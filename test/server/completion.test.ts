import { definePrompt, defineResource, defineResourceTemplate } from 'mcp-actors';
import type { ServerDefinition } from 'mcp-actors';
import type { Complete } from '../../src/server/define/resource.ts';
import { describe, expect, test } from 'vitest';
import { eachRevision, everywhere, since } from '../contract/everywhere.ts';
import { operate } from '../contract/serving.ts';

const languages = ['python', 'pytorch', 'pyside', 'ruby'];
const beginningWith: Complete = (value) => languages.filter((each) => each.startsWith(value));

/** A prompt whose argument `it` is completed by this. */
function completedBy(complete: Complete) {
  return definePrompt({ name: 'ask', arguments: { it: { complete }, plain: {} }, get: () => '' });
}

const numbered = defineResourceTemplate({
  uriTemplate: 'n://{kind}/{number}',
  name: 'numbered',
  complete: {
    number: async (value, { kind = 'none' }) =>
      await Promise.resolve(Array.from({ length: 250 }, (_, n) => `${kind}-${value}${n}`)),
  },
  read: () => '',
});

const features = {
  prompts: [completedBy(beginningWith)],
  resourceTemplates: [numbered],
  resources: [defineResource({ uri: 'n://fixed', name: 'fixed', read: () => '' })],
};

const ofPrompt = (name: string, value: unknown) => ({
  ref: { type: 'ref/prompt', name: 'ask' },
  argument: { name, value },
});

const ofTemplate = (name: string, value: unknown) => ({
  ref: { type: 'ref/resource', uri: numbered.uriTemplate },
  argument: { name, value },
});

everywhere('completion', eachRevision, ({ revision, transport }) => {
  /** Starts a session and tells what it declares. */
  const declared = async (definition: Partial<ServerDefinition>) => {
    const { peer } = await operate(definition, { revision, transport });
    const reply = peer.received[0] as { readonly result: { readonly capabilities: object } };
    return 'completions' in reply.result.capabilities;
  };

  test('declares completion if something completes and the revision supports it [COMPL-01]', async () => {
    const isKnown = revision >= '2025-03-26';
    expect(await declared(features)).toBe(isKnown);
    expect(await declared({ prompts: features.prompts })).toBe(isKnown);
    expect(await declared({ resourceTemplates: [numbered] })).toBe(isKnown);
    expect(await declared({ prompts: [], completions: true })).toBe(isKnown);
    expect(await declared({ prompts: [definePrompt({ name: 'a', get: () => '' })] })).toBe(false);
  });

  test('serves completers added at run time only if the definition declares completions [COMPL-01]', async () => {
    const open = await operate({ prompts: [], completions: true }, { revision, transport });
    const closed = await operate({ prompts: [] }, { revision, transport });
    for (const { server } of [open, closed]) server.prompts.add(completedBy(beginningWith));
    expect(await open.peer.ask('completion/complete', ofPrompt('it', 'r'))).toHaveProperty(
      'completion.values',
      ['ruby'],
    );
    await expect(closed.peer.ask('completion/complete', ofPrompt('it', 'r'))).rejects.toMatchObject(
      { error: { code: -32601 } },
    );
  });

  test('answers completion/complete with -32601 if nothing completes [COMPL-01]', async () => {
    const { peer } = await operate({ prompts: [], tools: [] }, { revision, transport });
    await expect(peer.ask('completion/complete', ofPrompt('it', ''))).rejects.toMatchObject({
      error: { code: -32601 },
    });
  });

  test('returns at most 100 values and their total [COMPL-02]', async () => {
    const { peer } = await operate(features, { revision, transport });
    expect(await peer.ask('completion/complete', ofPrompt('it', 'py'))).toEqual({
      completion: { values: ['python', 'pytorch', 'pyside'], total: 3, hasMore: false },
    });
    const { completion } = await peer.ask('completion/complete', ofTemplate('number', '7'));
    expect(completion).toMatchObject({ total: 250, hasMore: true });
    expect(completion).toHaveProperty('values.length', 100);
    expect(completion).toHaveProperty('values.0', 'none-70');
  });

  test('passes filled-in arguments to the completer if the revision has them [COMPL-04]', async () => {
    const { peer } = await operate(features, { revision, transport });
    const context = { arguments: { kind: 'even' } };
    const params = { ...ofTemplate('number', ''), context };
    expect(await peer.ask('completion/complete', params)).toHaveProperty(
      'completion.values.1',
      revision >= '2025-06-18' ? 'even-1' : 'none-1',
    );
  });

  test('returns an empty list for an argument without a completer [COMPL-02]', async () => {
    const { peer } = await operate(features, { revision, transport });
    for (const params of [ofPrompt('plain', 'x'), ofTemplate('kind', 'x')]) {
      expect(await peer.ask('completion/complete', params)).toEqual({
        completion: { values: [], total: 0, hasMore: false },
      });
    }
  });

  test.each([
    [{ ...ofPrompt('it', ''), ref: { type: 'ref/prompt', name: 'no' } }, '"no"'],
    [{ ...ofPrompt('it', ''), ref: { type: 'ref/resource', uri: 'no://{a}' } }, '"no://{a}"'],
    [{ ...ofPrompt('it', ''), ref: { type: 'ref/resource', uri: 'n://fixed' } }, '"it"'],
    [{ ...ofPrompt('it', ''), ref: { type: 'ref/tool', name: 'ask' } }, '"ref.type"'],
    [{ ...ofPrompt('it', ''), ref: { type: 'ref/prompt' } }, '"ref.name"'],
    [{ ...ofPrompt('it', ''), ref: 'ask' }, '"ref"'],
    [{ ref: { type: 'ref/prompt', name: 'ask' } }, '"argument"'],
    [ofPrompt('other', ''), '"other"'],
    [ofPrompt('toString', ''), '"toString"'],
    [ofTemplate('other', ''), '"other"'],
    [ofPrompt('it', 7), '"argument.value"'],
    [{}, '"argument"'],
  ])('rejects %j and names the problem [COMPL-03]', async (params, named) => {
    const { peer } = await operate(features, { revision, transport });
    await expect(peer.ask('completion/complete', params)).rejects.toMatchObject({
      error: { code: -32602, message: expect.stringContaining(named) },
    });
  });
});

describe('a completer', () => {
  test.each([[undefined], [{ values: [] }], ['a'], [['a', 7]]])(
    'fails only its own request if it returns %j [FLOW-04]',
    async (given) => {
      const { peer } = await operate({ prompts: [completedBy(() => given as never)] });
      await expect(peer.ask('completion/complete', ofPrompt('it', ''))).rejects.toMatchObject({
        error: { code: -32603 },
      });
      expect(await peer.ask('completion/complete', ofPrompt('plain', ''))).toHaveProperty(
        'completion.total',
        0,
      );
    },
  );
});

everywhere('a completer', since('2025-06-18', eachRevision), () => {
  test.each([7, 'x', { arguments: 'x' }, { arguments: { kind: 7 } }])(
    'is not called with the invalid context %j [COMPL-04]',
    async (context) => {
      const { peer } = await operate(features);
      const params = { ...ofTemplate('number', ''), context };
      await expect(peer.ask('completion/complete', params)).rejects.toMatchObject({
        error: { code: -32602, message: expect.stringContaining('context') },
      });
    },
  );
});
