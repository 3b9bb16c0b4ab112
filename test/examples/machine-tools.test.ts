/** Runs the code shown on the page about machine tools. */
import { createMcpServer, defineTool } from 'mcp-actors';
import type { ToolAnswer } from 'mcp-actors';
import { testClient } from 'mcp-actors/testing';
import { expect, test } from 'vitest';
import { createActor, createMachine, setup, transition } from 'xstate';
import { bookingMachine } from '../../examples/booking/booking.machine.ts';

const book = defineTool({
  name: 'book',
  description: 'Books a table.',
  inputSchema: { type: 'object', properties: { day: { type: 'string' } }, required: ['day'] },
  machine: bookingMachine,
});
const server = createMcpServer({ name: 'booking', version: '1.0.0', tools: [book] });

// #region kit
test.each([
  { revision: '2025-11-25' },
  { revision: '2026-07-28' },
  { revision: '2026-07-28', resume: 'replay' },
] as const)("books the person's choice, and goes back on request: %j", async (era) => {
  const answers = [
    { people: 4 },
    { back: true },
    { people: 3 },
    { seating: 'terrace' },
    { name: 'Ada' },
  ];
  const client = await testClient(server, {
    ...era,
    elicit: () => ({ action: 'accept', content: answers.shift() }),
  });
  const { text } = await client.callTool('book', { day: 'Monday' });
  expect(text).toBe('Booked for 3, terrace, on Monday, under the name of Ada.');
  await client.close();
});
// #endregion

// #region chart
test('books nothing if the person declines, in any state', () => {
  const actor = createActor(bookingMachine, { input: { day: 'Monday' } }).start();
  const [asked] = transition(bookingMachine, actor.getSnapshot(), {
    type: 'answer.accepted',
    content: { people: 4 },
  });
  for (const snapshot of [actor.getSnapshot(), asked]) {
    const [ended] = transition(bookingMachine, snapshot, { type: 'answer.declined' });
    expect(ended.output).toBe('Nothing is booked.');
  }
});
// #endregion

test('reads the answer to each kind of request in a machine', async () => {
  // #region kinds
  const machine = setup({
    types: { events: {} as ToolAnswer, output: {} as string, tags: {} as 'waiting' },
  }).createMachine({
    initial: 'looking',
    states: {
      looking: {
        tags: 'waiting',
        meta: { ask: { roots: true } },
        on: { 'answer.roots': 'summing up' },
      },
      'summing up': {
        tags: 'waiting',
        meta: {
          ask: {
            sample: { messages: [{ role: 'user', content: 'Sum up.' }], maxTokens: 100 },
          },
        },
        on: {
          'answer.sampled': 'done',
          // Without it the error would end the call.
          'answer.failed': 'without',
        },
      },
      done: { type: 'final', output: 'Summed up.' },
      without: { type: 'final', output: 'The client has no model.' },
    },
    output: ({ event }) => event.output as string,
  });
  // #endregion
  const tool = defineTool({ name: 'sum', description: 'Sums up.', machine });
  const both = createMcpServer({ name: 'sums', version: '1.0.0', tools: [tool] });
  const sampled = { role: 'assistant', model: 'm', content: { type: 'text', text: 'Short.' } };
  for (const [sample, text] of [
    [() => sampled, 'Summed up.'],
    [undefined, 'The client has no model.'],
  ] as const) {
    const client = await testClient(both, {
      roots: ['file:///home/ada'],
      ...(sample ? { sample } : {}),
    });
    expect((await client.callTool('sum')).text).toBe(text);
    await client.close();
  }
});

test('refuses what the page says is refused', () => {
  // #region stuck
  const stuck = createMachine({
    id: 'naming',
    initial: 'asking',
    states: {
      asking: {
        tags: 'waiting',
        meta: {
          ask: { elicit: { message: 'Name?', schema: { type: 'object', properties: {} } } },
        },
        on: { 'answer.accepted': 'done' },
      },
      done: { type: 'final' },
    },
  });
  expect(() => defineTool({ name: 'name', description: 'Asks.', machine: stuck })).toThrow(
    'the state "naming.asking" does not handle "answer.declined"',
  );
  // #endregion
});
