/**
 * Examples that request input, with the official client of 2026-07-28 over a real process: same
 * handlers, same results.
 */
import type { Client, ClientCapabilities, ElicitResult } from '@modelcontextprotocol/client';
import { describe, expect, test } from 'vitest';
import { connect as connectTo, modern, textOf } from '../e2e/both-eras-client.ts';
import { program } from '../tooling/programs.ts';
import type { Program } from '../tooling/programs.ts';

/** A client restricted to that revision, connected to a separate process. */
const connect = (source: Program, capabilities: ClientCapabilities): Promise<Client> =>
  connectTo(program(source), { mode: modern, capabilities });

/** Calls a tool with a client whose user gives these answers, in order. */
async function answering(client: Client, answers: readonly ElicitResult[], name: string) {
  const asked: string[] = [];
  const queue = [...answers];
  client.setRequestHandler('elicitation/create', ({ params }) => {
    asked.push(params.message);
    return queue.shift() as ElicitResult;
  });
  const result = await client.callTool({ name, arguments: { day: 'Friday' } });
  return { asked, text: textOf(result) };
}

describe('the elicitation example', () => {
  test("follows the user's answer", async () => {
    const client = await connect('examples/elicitation/server.ts', { elicitation: { form: {} } });
    const content = { people: 4, seating: 'terrace', email: 'ada@example.org' };
    expect(await answering(client, [{ action: 'accept', content }], 'book_table')).toEqual({
      asked: ['A table for Friday'],
      text: 'Booked for 4, terrace, on Friday, confirmed to ada@example.org',
    });
    const declined = await answering(client, [{ action: 'decline' }], 'book_table');
    expect(declined.text).toBe('Nothing is booked: the user chose to decline');
  });

  test('rejects the call of a client that accepts no requests with -32021', async () => {
    const client = await connect('examples/elicitation/server.ts', {});
    const call = client.callTool({ name: 'book_table', arguments: { day: 'Friday' } });
    await expect(call).rejects.toMatchObject({ code: -32021 });
  });
});

test("returns the text of the client's model in the sampling example", async () => {
  const client = await connect('examples/sampling/server.ts', { sampling: {} });
  client.setRequestHandler('sampling/createMessage', ({ params }) => {
    const [message] = params.messages;
    expect(message?.content).toEqual({
      type: 'text',
      text: 'In at most 3 words:\n\nA long text',
    });
    return { role: 'assistant', model: 'a-model', content: { type: 'text', text: 'Short.' } };
  });
  const call = { name: 'summarize', arguments: { text: 'A long text', words: 3 } };
  expect(textOf(await client.callTool(call))).toBe('Short.');
});

describe('the booking example', () => {
  const accept = (content: NonNullable<ElicitResult['content']>): ElicitResult => ({
    action: 'accept',
    content,
  });

  test('goes step by step, and back', async () => {
    const client = await connect('examples/booking/server.ts', { elicitation: { form: {} } });
    const answers = [
      accept({ people: 4 }),
      accept({ back: true }),
      accept({ people: 3 }),
      accept({ seating: 'terrace' }),
      accept({ name: 'Ada' }),
    ];
    expect(await answering(client, answers, 'book')).toEqual({
      asked: [
        'How many people, on Friday?',
        'Where would you like to sit?',
        'How many people, on Friday?',
        'Where would you like to sit?',
        'A table for 3, terrace, on Friday: under which name?',
      ],
      text: 'Booked for 3, terrace, on Friday, under the name of Ada.',
    });
  });

  test('books nothing if the user declines', async () => {
    const client = await connect('examples/booking/server.ts', { elicitation: { form: {} } });
    const answers: ElicitResult[] = [accept({ people: 2 }), { action: 'decline' }];
    expect((await answering(client, answers, 'book')).text).toBe('Nothing is booked.');
  });
});
