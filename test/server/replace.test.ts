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

describe('a definition that is replaced', () => {
  test('serves new calls of open sessions, while those that run go on with the old one', async () => {
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

  test('is announced by the lists that are not the same for clients, and by no others', async () => {
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

  test('serves a kind that is new, which clients are not told of that were told of none', async () => {
    const { peer, server, clock } = await operate(says('old'));
    server.replace({ ...says('new'), prompts: [definePrompt({ name: 'ask', get: () => 'now' })] });
    clock.increment(quietMs);
    await peer.quiet();
    expect(peer.count(promptsChanged)).toBe(0);
    expect(await peer.ask('prompts/list')).toMatchObject({ prompts: [{ name: 'ask' }] });
    server.replace(says('newest'));
    await expect(peer.ask('prompts/list')).rejects.toThrow('-32601');
  });

  test('leaves subscriptions to resources as they are', async () => {
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
    ['another name', { ...says('new'), name: 'other' }, /named "other"/],
    ['other keys', { ...says('new'), stateKeys: ['11'.repeat(32)] }, /other "stateKeys"/],
    [
      'two tools of one name',
      { ...named, tools: [tool('a', () => ''), tool('a', () => '')] },
      /already/,
    ],
  ])('is refused with %s, and nothing has changed', async (_, next, message) => {
    const { peer, server } = await operate(says('old'));
    expect(() => server.replace(next)).toThrow(message);
    expect(textOf(await peer.call('say'))).toBe('old');
  });

  test('a thousand times leaves nothing but the last one', async () => {
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

describe('a call that is suspended while its definition is replaced', () => {
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

  test('goes on where it stands, with the code that it began with', async () => {
    const { ask, server } = modern({ tools: [asks('old')] });
    const asked = await ask('tools/call', { name: 'order' });
    server.replace({ ...server.definition, tools: [asks('new')] });
    const result = await ask('tools/call', { name: 'order', ...accepted(asked) });
    expect(textOf(result)).toBe('old accept');
  });

  test('goes on elsewhere in its state, if the machine there has that; otherwise the state is named', async () => {
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
    expect(textOf(refused)).toContain('NOT_RESUMABLE: The call waits in the state "confirming"');
    // The refusal has used up nothing.
    expect(textOf(await next.ask('tools/call', retry))).toBe('new');
  });
});

test('what a server says of itself is what it was replaced by', () => {
  const server = createMcpServer(says('old'));
  server.replace({ ...says('new'), version: '2.0.0' });
  expect(server.definition.version).toBe('2.0.0');
  expect(server.tools.keys()).toEqual(['say']);
});
