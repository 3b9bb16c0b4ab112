/** A server whose definition is replaced while it runs, under its open sessions. */
import { createMachine } from 'xstate';
import { describe, expect, test } from 'vitest';
import { createMcpServer, definePrompt, defineResource, defineTool } from '../../src/index.ts';
import type { JsonObject, ServerDefinition } from '../../src/index.ts';
import { gate } from '../../packages/testing/src/index.ts';
import { Live, heapBytes } from '../../packages/client/test/live-counts.ts';
import { operate, textOf, tool } from '../contract/serving.ts';
import { modern } from './modern-peer.ts';

const named = { name: 'under-test', version: '1.0.0' };
const says = (text: string) => ({ ...named, tools: [tool('say', () => text)] });
const toolsChanged = 'notifications/tools/list_changed';
const promptsChanged = 'notifications/prompts/list_changed';
const quietMs = 60;

describe('server.replace', () => {
  test('applies to new calls of open sessions while running calls keep the old definition', async () => {
    const held = gate();
    const old = tool('say', async () => {
      await held.pass();
      return 'old';
    });
    const { peer, server } = await operate({ tools: [old] });
    const running = peer.call('say');
    await held.arrived();
    server.replace({ ...says('new'), instructions: 'As of now' });
    expect(textOf(await peer.call('say'))).toBe('new');
    held.release();
    expect(textOf(await running)).toBe('old');
    expect(server.definition.instructions).toBe('As of now');
  });

  test('announces only the lists that changed', async () => {
    const ask = definePrompt({ name: 'ask', get: () => 'old' });
    const { peer, server, clock } = await operate({ ...says('old'), prompts: [ask] });
    const again = definePrompt({ name: 'ask', get: () => 'new' });
    server.replace({ ...says('new'), prompts: [again] });
    clock.increment(quietMs);
    await peer.quiet();
    expect([peer.count(toolsChanged), peer.count(promptsChanged)]).toEqual([0, 0]);
    const described = { ...tool('say', () => ''), description: 'Says it otherwise' };
    server.replace({ ...named, tools: [described], prompts: [again] });
    clock.increment(quietMs);
    await peer.notification(toolsChanged);
    expect(peer.count(promptsChanged)).toBe(0);
  });

  test('serves a new kind of items without notifying clients that were not told the capability', async () => {
    const { peer, server, clock } = await operate(says('old'));
    server.replace({ ...says('new'), prompts: [definePrompt({ name: 'ask', get: () => 'now' })] });
    clock.increment(quietMs);
    await peer.quiet();
    expect(peer.count(promptsChanged)).toBe(0);
    expect(await peer.ask('prompts/list')).toMatchObject({ prompts: [{ name: 'ask' }] });
    server.replace(says('newest'));
    await expect(peer.ask('prompts/list')).rejects.toThrow('-32601');
  });

  test('keeps resource subscriptions', async () => {
    const file = (text: string) => [
      defineResource({ uri: 'note://one', name: 'one', read: () => text }),
    ];
    const { peer, server } = await operate({ resources: file('old') });
    await peer.ask('resources/subscribe', { uri: 'note://one' });
    server.replace({ ...named, resources: file('new') });
    server.resourceUpdated('note://one');
    await peer.notification('notifications/resources/updated');
  });

  test.each([
    ['another name', { ...says('new'), name: 'other' }, /"name" must not change, got "other"/],
    ['other keys', { ...says('new'), stateKeys: ['11'.repeat(32)] }, /"stateKeys" must not change/],
    [
      'two tools of one name',
      { ...named, tools: [tool('a', () => ''), tool('a', () => '')] },
      /already/,
    ],
  ])('rejects %s and changes nothing', async (_, next, message) => {
    const { peer, server } = await operate(says('old'));
    expect(() => server.replace(next)).toThrow(message);
    expect(textOf(await peer.call('say'))).toBe('old');
  });

  test('retains only the last definition after a thousand replacements', async () => {
    const { peer, server } = await operate(says('0'));
    const live = new Live<ServerDefinition>();
    const replace = async (times: number) => {
      for (let time = 0; time < times; time++) {
        server.replace(live.add(says(`${time}`)));
        await peer.call('say');
      }
    };
    await replace(100);
    const before = await heapBytes();
    await replace(900);
    expect(await live.left()).toBeLessThanOrEqual(1);
    expect((await heapBytes()) - before).toBeLessThan(2 ** 20);
  });
});

describe('a call suspended during server.replace', () => {
  const schema = { type: 'object', properties: {} } as const;
  const asks = (message: string) =>
    defineTool({
      name: 'order',
      description: 'Asks first.',
      handler: async (_, context) =>
        `${message} ${(await context.elicit({ message, schema })).action}`,
    });
  const accepted = ({ requestState, inputRequests }: JsonObject) => {
    const keys = Object.keys(inputRequests as object);
    const answers = keys.map((key) => [key, { action: 'accept', content: {} }]);
    return { requestState, inputResponses: Object.fromEntries(answers) as JsonObject };
  };

  test('resumes with the code that it started with', async () => {
    const { ask, server } = modern({ tools: [asks('old')] });
    const asked = await ask('tools/call', { name: 'order' });
    server.replace({ ...server.definition, tools: [asks('new')] });
    const result = await ask('tools/call', { name: 'order', ...accepted(asked) });
    expect(textOf(result)).toBe('old accept');
  });

  test('resumes at another process in its state, or fails naming the state that the machine lacks', async () => {
    const stateKeys = ['33'.repeat(32)];
    const machine = (state: string, output: string) =>
      defineTool({
        name: 'order',
        description: 'Asks first.',
        machine: createMachine({
          id: 'order',
          initial: state,
          states: {
            [state]: {
              tags: 'waiting',
              meta: { ask: { elicit: { message: 'Sure?', schema } } },
              on: { 'answer.*': 'done' },
            },
            done: { type: 'final' },
          },
          output,
        }),
      });
    const node = (state: string, output: string) =>
      modern({ tools: [machine(state, output)], stateKeys });
    const [old, renamed, next] = [
      node('confirming', 'old'),
      node('agreeing', ''),
      node('confirming', 'new'),
    ];
    const retry = { name: 'order', ...accepted(await old.ask('tools/call', { name: 'order' })) };
    const refused = await renamed.ask('tools/call', retry);
    expect(refused).toMatchObject({ isError: true });
    expect(textOf(refused)).toContain('no longer has its state "confirming"');
    // The refusal has used up nothing.
    expect(textOf(await next.ask('tools/call', retry))).toBe('new');
  });
});

test('describes the server by the replaced definition', () => {
  const server = createMcpServer(says('old'));
  server.replace({ ...says('new'), version: '2.0.0' });
  expect(server.definition.version).toBe('2.0.0');
  expect(server.tools.keys()).toEqual(['say']);
});
