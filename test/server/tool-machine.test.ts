/** Tools that are machines: they ask in the states that wait, and go on from their snapshot, in either era. */
import { assign, createMachine, setup } from 'xstate';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createMcpServer, defineTool } from '../../src/index.ts';
import type { ToolAnswer } from '../../src/index.ts';
import { bookingMachine } from '../../examples/booking/booking.machine.ts';
import { testClient } from '../../src/testing/index.ts';
import type { JsonObject } from '../../src/protocol/frames.ts';
import { modern } from './modern-peer.ts';

const inputSchema = {
  type: 'object',
  properties: { day: { type: 'string' } },
  required: ['day'],
} as const;

const book = defineTool({
  name: 'book',
  description: 'Books a table.',
  inputSchema,
  machine: bookingMachine,
});

const accept = (content: JsonObject): JsonObject => ({ action: 'accept', content });
/** What a person answers, with one step back. */
const answers = [
  accept({ people: 4 }),
  accept({ back: true }),
  accept({ people: 3 }),
  accept({ seating: 'terrace' }),
  accept({ name: 'Ada' }),
];
const booked = 'Booked for 3, terrace, on Monday, under the name of Ada.';

/** Calls the tool and answers all that it asks, one process for each round. */
async function answeredAcross(
  processes: readonly ReturnType<typeof modern>[],
  given: readonly JsonObject[],
) {
  const params = { name: 'book', arguments: { day: 'Monday' } };
  const at = (round: number) => processes[round % processes.length] as ReturnType<typeof modern>;
  let result = await at(0).ask('tools/call', params);
  const asked: unknown[] = [];
  for (const [round, answer] of given.entries()) {
    const [[key, request]] = Object.entries(result['inputRequests'] as object) as [
      [string, { params: { message: string } }],
    ];
    asked.push(request.params.message);

    const inputResponses = { [key]: answer };
    const { requestState } = result;
    const retry = { ...params, requestState, inputResponses };
    result = await at(round + 1).ask('tools/call', retry);
  }
  return { result, asked };
}

describe('a machine', () => {
  test('asks in each state that waits, and goes back, in one process', async () => {
    const { result, asked } = await answeredAcross([modern({ tools: [book] })], answers);
    expect(asked).toEqual([
      'How many people, on Monday?',
      'Where would you like to sit?',
      'How many people, on Monday?',
      'Where would you like to sit?',
      'A table for 3, terrace, on Monday: under which name?',
    ]);
    expect(result).toMatchObject({ resultType: 'complete', content: [{ text: booked }] });
  });

  test('goes on in any process, each round in another one', async () => {
    const stateKeys = ['11'.repeat(32)];
    const processes = [1, 2, 3].map(() => modern({ tools: [book], stateKeys }));
    const { result } = await answeredAcross(processes, answers);
    expect(result).toMatchObject({ content: [{ text: booked }] });
  });

  test('runs nothing again: what its actions did before it was asked is not done twice', async () => {
    const done: string[] = [];
    const machine = setup({
      types: { events: {} as ToolAnswer<{ name?: string }>, output: {} as string },
      actions: { work: (_, what: string) => void done.push(what) },
    }).createMachine({
      initial: 'preparing',
      states: {
        preparing: {
          entry: { type: 'work', params: 'prepared' },
          always: 'naming',
        },
        naming: {
          tags: 'waiting',
          meta: {
            ask: {
              elicit: {
                message: 'Name?',
                schema: { type: 'object', properties: { name: { type: 'string' } } },
              },
            },
          },
          on: { 'answer.accepted': 'done' },
        },
        done: { type: 'final', entry: { type: 'work', params: 'finished' } },
      },
      output: 'done',
    });
    const tool = defineTool({ name: 'book', description: 'Works.', inputSchema, machine });
    const stateKeys = ['22'.repeat(32)];
    const [one, two] = [1, 2].map(() => modern({ tools: [tool], stateKeys }));
    await answeredAcross([one!, two!], [accept({ name: 'Ada' })]);
    expect(done).toEqual(['prepared', 'finished']);
  });

  test('ends its call when the person declines, as its chart says', async () => {
    const { result } = await answeredAcross(
      [modern({ tools: [book] })],
      [accept({ people: 2 }), { action: 'decline' }],
    );
    expect(result).toMatchObject({ content: [{ text: 'Nothing is booked.' }] });
  });

  test('serves a client of 2025-11-25 by asking it', async () => {
    const server = createMcpServer({ name: 'server', version: '1', tools: [book] });
    const queue = [...answers];
    const client = await testClient(server, { elicit: () => queue.shift() as never });
    onTestFinished(() => client.close());
    const result = await client.callTool('book', { day: 'Monday' });
    expect(result).toMatchObject({ content: [{ text: booked }] });
    expect(queue).toEqual([]);
  });
});

describe('an answer that a state does not take', () => {
  const asking = (on: object) =>
    createMachine({
      initial: 'naming',
      states: {
        naming: {
          tags: 'waiting',
          meta: {
            ask: { elicit: { message: 'Name?', schema: { type: 'object', properties: {} } } },
          },
          on,
        },
        done: { type: 'final' },
      },
    });
  const ask = async (on: object, answer: JsonObject, capabilities?: JsonObject) => {
    const tool = defineTool({
      name: 'book',
      description: 'Asks.',
      inputSchema,
      machine: asking(on),
    });
    const peer = modern({ tools: [tool] });
    if (capabilities)
      return await peer.ask(
        'tools/call',
        { name: 'book', arguments: { day: 'Monday' } },
        capabilities,
      );
    return (await answeredAcross([peer], [answer])).result;
  };

  test('ends the call: to ask again would have no end', async () => {
    const result = await ask({ 'answer.accepted': 'done' }, { action: 'decline' });
    expect(result).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining('"naming" goes nowhere from "answer.declined"') }],
    });
  });

  test('is the error itself if the client could not be asked', async () => {
    const refused = await ask({ 'answer.accepted': 'done' }, {}, {});
    expect(refused).toMatchObject({ code: -32021 });
    const taken = await ask({ 'answer.failed': 'done' }, {}, {});
    expect(taken).not.toHaveProperty('code');
  });
});

describe('a machine that could not be resumed is refused when it is defined', () => {
  const ask = { elicit: { message: 'Name?', schema: { type: 'object', properties: {} } } } as const;
  const meta = { ask };
  test.each([
    [
      'a timer in a waiting state',
      {
        initial: 'naming',
        states: { naming: { tags: 'waiting', meta, after: { 1000: 'naming' } } },
      },
      /of the tool "t" cannot be resumed: the state "m\.naming" has delayed transitions/,
    ],
    [
      'an invocation around a waiting state',
      {
        initial: 'form',
        states: {
          form: {
            initial: 'naming',
            invoke: { src: 'x' },
            states: { naming: { tags: 'waiting', meta } },
          },
        },
      },
      /the state "m\.form" invokes an actor while "m\.form\.naming" waits/,
    ],
    [
      'a waiting state that asks nothing',
      { initial: 'naming', states: { naming: { tags: 'waiting' } } },
      /the state "m\.naming" waits, and its meta\.ask does not say for what/,
    ],
    [
      'a function in its context',
      {
        context: { notify: () => {} },
        initial: 'naming',
        states: { naming: { tags: 'waiting', meta } },
      },
      /"notify" in its context is a function/,
    ],
  ])('%s', (_, config, message) => {
    const machine = createMachine({ id: 'm', ...config } as never);
    expect(() => defineTool({ name: 't', description: 'T', machine })).toThrow(message);
  });

  test('a function that comes into its context later is an error of the call', async () => {
    const machine = setup({}).createMachine({
      context: {},
      entry: assign(() => ({ late: () => {} })),
      initial: 'naming',
      states: { naming: { tags: 'waiting', meta } },
    });
    const tool = defineTool({ name: 'book', description: 'Asks.', machine });
    const result = await modern({ tools: [tool] }).ask('tools/call', { name: 'book' });
    expect(result).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining('"late" in its context is a function') }],
    });
  });
});
