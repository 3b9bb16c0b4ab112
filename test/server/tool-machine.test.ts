/** Tools that are machines: they ask in the states that wait, and go on from their snapshot, in either era. */
import { assign, createMachine, setup } from 'xstate';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createMcpServer, defineTool } from '../../src/index.ts';
import type { ToolAnswer } from '../../src/index.ts';
import { bookingMachine } from '../../examples/booking/booking.machine.ts';
import { testClient } from '../../packages/testing/src/index.ts';
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

describe('a machine tool', () => {
  test('asks in each waiting state and can return to an earlier one within a process', async () => {
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

  test('resumes in any process, even a different one each round', async () => {
    const stateKeys = ['11'.repeat(32)];
    const processes = [1, 2, 3].map(() => modern({ tools: [book], stateKeys }));
    const { result } = await answeredAcross(processes, answers);
    expect(result).toMatchObject({ content: [{ text: booked }] });
  });

  test('does not repeat actions that ran before the question', async () => {
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
          on: { 'answer.*': 'done' },
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

  test('ends its call when the user declines, according to its chart', async () => {
    const { result } = await answeredAcross(
      [modern({ tools: [book] })],
      [accept({ people: 2 }), { action: 'decline' }],
    );
    expect(result).toMatchObject({ content: [{ text: 'Nothing is booked.' }] });
  });

  test('serves a 2025-11-25 client with requests', async () => {
    const server = createMcpServer({ name: 'server', version: '1', tools: [book] });
    const queue = [...answers];
    const client = await testClient(server, { elicit: () => queue.shift() as never });
    onTestFinished(() => client.close());
    const result = await client.callTool('book', { day: 'Monday' });
    expect(result).toMatchObject({ content: [{ text: booked }] });
    expect(queue).toEqual([]);
  });
});

describe('an answer without a transition', () => {
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
  const all = { 'answer.accepted': 'done', 'answer.declined': 'done', 'answer.cancelled': 'done' };
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

  test('ends the call instead of asking again', async () => {
    const unwilling = { target: 'done', guard: () => false };
    const result = await ask({ ...all, 'answer.declined': unwilling }, { action: 'decline' });
    expect(result).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining('"naming" does not handle "answer.declined"') }],
    });
  });

  test('rethrows the error if the question could not be sent', async () => {
    const refused = await ask(all, {}, {});
    expect(refused).toMatchObject({ code: -32021 });
    const taken = await ask({ ...all, 'answer.failed': 'done' }, {}, {});
    expect(taken).not.toHaveProperty('code');
  });
});

describe('defineTool with an invalid machine', () => {
  const ask = { elicit: { message: 'Name?', schema: { type: 'object', properties: {} } } } as const;
  const meta = { ask };
  const on = { 'answer.*': {} };
  const naming = (state: object) => ({ initial: 'naming', states: { naming: state } });
  const waits = (more: object) => naming({ tags: 'waiting', ...more });
  test.each([
    [
      'a delay that would be over at once',
      naming({ after: { '24hours': 'naming' } }),
      /"24hours" of the state "m\.naming" must be declared in "delays" or be a duration such as "24h"/,
    ],
    [
      'a waiting state that asks nothing',
      { initial: 'naming', states: { naming: { tags: 'waiting' } } },
      /the state "m\.naming" has the tag "waiting" but no meta\.ask/,
    ],
    [
      'a function in its context',
      {
        context: { notify: () => {} },
        initial: 'naming',
        states: { naming: { tags: 'waiting', meta, on } },
      },
      /"notify" in its context is a function/,
    ],
    [
      'a question without the tag',
      naming({ meta, on }),
      /would never ask: the state "m\.naming" has a meta\.ask but lacks the tag "waiting"/,
    ],
    [
      'a question of an unknown kind',
      waits({ meta: { ask: { confirm: {} } }, on }),
      /meta\.ask of the state "m\.naming" must have one of elicit, elicitUrl, sample, roots, got "confirm"/,
    ],
    [
      'two questions at once',
      waits({ meta: { ask: { ...ask, roots: true } }, on }),
      /must have one of .*, got "elicit", "roots"/,
    ],
    [
      'a question that asks nothing',
      waits({ meta: { ask: { roots: false } }, on }),
      /has "roots", which must be true, got false/,
    ],
    [
      'an unhandled answer',
      waits({ meta, on: { 'answer.accepted': {}, 'answer.declined': {} } }),
      /the state "m\.naming" does not handle "answer\.cancelled"/,
    ],
    [
      'roots that go nowhere',
      waits({ meta: { ask: { roots: true } }, on: { 'answer.accepted': {} } }),
      /does not handle "answer\.roots"/,
    ],
    [
      'a question function without any handled answer',
      waits({ meta: { ask: () => ask } }),
      /does not handle "answer\.accepted"/,
    ],
    [
      'a context that JSON would change',
      { context: { at: { first: new Date() } }, ...waits({ meta, on }) },
      /"at\.first" in its context is a Date, which JSON cannot restore/,
    ],
  ])('%s', (_, config, message) => {
    const machine = createMachine({ id: 'm', ...config } as never);
    expect(() => defineTool({ name: 't', description: 'T', machine })).toThrow(message);
  });

  test.each([[{}], ['machine'], [() => {}], [{ initial: 'naming', states: {} }], [7]])(
    'rejects %j as a machine',
    (machine) => {
      const define = () => defineTool({ name: 't', description: 'T', machine } as never);
      expect(define).toThrow('"machine" of the tool "t" must be an XState machine');
    },
  );

  test('accepts an answer handled by an ancestor, a parallel sibling, a child state or a wildcard', () => {
    const [accepted, declined, cancelled] = ['accepted', 'declined', 'cancelled'].map((how) => ({
      [`answer.${how}`]: {},
    }));
    const outer = { id: 'm', on: cancelled, ...waits({ meta, on: { ...accepted, ...declined } }) };
    const beside = {
      ...{ id: 'm', type: 'parallel' },
      states: { asks: waits({ meta, on: accepted }), hears: { on: { ...declined, ...cancelled } } },
    };
    const inside = waits({ meta, on: accepted, ...naming({ on: { '*': {} } }) });
    for (const config of [outer, beside, inside, waits({ meta, on })]) {
      const machine = createMachine(config as never);
      expect(defineTool({ name: 't', description: 'T', machine })).toHaveProperty('handler');
    }
  });

  class Guest {
    readonly name = 'Ada';
  }
  const cyclic: { self?: unknown } = {};
  cyclic.self = cyclic;
  test.each<[context: object, fault: string]>([
    [{ at: new Date(0) }, '"at" in its context is a Date'],
    [{ seats: new Map() }, '"seats" in its context is a Map'],
    [{ seats: { free: new Set() } }, '"seats.free" in its context is a Set'],
    [{ guests: [new Guest()] }, '"guests[0]" in its context is a Guest'],
    [{ name: undefined }, '"name" in its context is undefined'],
    [{ 'the seat': 7n }, '"["the seat"]" in its context is a BigInt'],
    [{ mark: Symbol('m') }, '"mark" in its context is a symbol'],
    [{ price: NaN }, '"price" in its context is NaN'],
    [{ price: -Infinity }, '"price" in its context is -Infinity'],
    [{ rows: [1, , 3] }, '"rows[1]" in its context is a hole'], // eslint-disable-line no-sparse-arrays -- a hole is what is refused
    [{ tree: cyclic }, '"tree.self" in its context is a circular reference'],
    [{ [Symbol('s')]: 1 }, '"[Symbol(s)]" in its context is a member under a symbol'],
  ])(
    'what comes into its context later and JSON would change is an error of the call: %#',
    async (context, fault) => {
      const machine = setup({}).createMachine({
        context: {},
        entry: assign(() => context as never),
        ...waits({ meta, on }),
      } as never);
      const tool = defineTool({
        name: 'book',
        description: 'Asks.',
        machine: machine as never,
      });
      const result = await modern({ tools: [tool] }).ask('tools/call', { name: 'book' });
      expect(result).toMatchObject({
        isError: true,
        content: [{ text: expect.stringContaining(fault) }],
      });
    },
  );

  test('allows any JSON value in the context of a machine', async () => {
    const context = {
      ...{
        text: 'ä',
        number: -1.5,
        yes: true,
        none: null,
        list: [1, [2]],
        bare: Object.create(null),
      },
      // The same object twice is no cycle.
      ...{ one: { a: 1 }, other: [{ a: 1 }] },
    };
    const machine = createMachine({
      context: { ...context, twice: context.one },
      ...waits({ meta, on }),
    } as never);
    const tool = defineTool({ name: 'book', description: 'Asks.', machine });
    const result = await modern({ tools: [tool] }).ask('tools/call', { name: 'book' });
    expect(result).toMatchObject({ resultType: 'input_required' });
  });

  test('fails the call if its context later contains a function', async () => {
    const machine = setup({}).createMachine({
      context: {},
      entry: assign(() => ({ late: () => {} })),
      initial: 'naming',
      states: { naming: { tags: 'waiting', meta, on } },
    });
    const tool = defineTool({ name: 'book', description: 'Asks.', machine });
    const result = await modern({ tools: [tool] }).ask('tools/call', { name: 'book' });
    expect(result).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining('"late" in its context is a function') }],
    });
  });
});
