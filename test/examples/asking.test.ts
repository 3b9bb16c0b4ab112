import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';
import type { ElicitRequestURLParams, ElicitResult } from '@modelcontextprotocol/sdk/types.js';
import { afterEach, describe, expect, test } from 'vitest';
import { closeClients, connect, textOf } from '../e2e/sdk-client.ts';
import { program } from '../tooling/programs.ts';

afterEach(closeClients);

const sampling = program('examples/sampling/server.ts');
const elicitation = program('examples/elicitation/server.ts');

describe('the sampling example, with the official client', () => {
  test("returns the text of the client's model", async () => {
    const sdk = await connect(sampling, { capabilities: { sampling: {} } });
    sdk.client.setRequestHandler(CreateMessageRequestSchema, ({ params }) => {
      const [message] = params.messages;
      expect(message?.content).toEqual({
        type: 'text',
        text: 'In at most 3 words:\n\nA long text',
      });
      return { role: 'assistant', model: 'a-model', content: { type: 'text', text: 'Short.' } };
    });
    const result = await sdk.callRaw('summarize', { text: 'A long text', words: 3 });
    expect(textOf(result)).toBe('Short.');
  });

  test('names the capability that a client without a model lacks', async () => {
    const sdk = await connect(sampling);
    const result = await sdk.callRaw('summarize', { text: 'A long text' });
    expect(result.isError).toBe(true);
    expect(textOf(result)).toContain('CAPABILITY_MISSING');
  });
});

describe('the elicitation example, with the official client', () => {
  const accepted = { people: 4, seating: 'terrace', email: 'ada@example.org' };
  const answers: readonly { readonly answer: ElicitResult; readonly text: string }[] = [
    {
      answer: { action: 'accept', content: accepted },
      text: 'Booked for 4, terrace, on Friday, confirmed to ada@example.org',
    },
    {
      answer: { action: 'accept', content: { people: 2, seating: 'inside' } },
      text: 'Booked for 2, inside, on Friday',
    },
    { answer: { action: 'decline' }, text: 'Nothing is booked: the user chose to decline' },
    { answer: { action: 'cancel' }, text: 'Nothing is booked: the user chose to cancel' },
  ];

  test("follows the user's answer", async () => {
    const sdk = await connect(elicitation, { capabilities: { elicitation: {} } });
    for (const { answer, text } of answers) {
      sdk.client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
        expect(params.message).toBe('A table for Friday');
        return answer;
      });
      expect(textOf(await sdk.callRaw('book_table', { day: 'Friday' }))).toBe(text);
    }
  });
});

describe('the elicitation example, with an official client that opens URLs', () => {
  const capabilities = { elicitation: { url: {} } };

  test('sends the user to a page, and accepts a refusal', async () => {
    const sdk = await connect(elicitation, { capabilities });
    for (const [action, text] of [
      ['accept', 'The page is open'],
      ['decline', 'No card: the user chose to decline'],
    ] as const) {
      sdk.client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
        expect(params).toMatchObject({ mode: 'url', message: 'Leave a card to hold your table.' });
        const { url, elicitationId } = params as ElicitRequestURLParams;
        expect(url).toBe(`https://restaurant.example/card?elicitation=${elicitationId}`);
        return { action };
      });
      expect(textOf(await sdk.callRaw('keep_card'))).toBe(text);
    }
  });

  test('refuses a call that needs a page first, naming the page', async () => {
    const sdk = await connect(elicitation, { capabilities });
    await expect(sdk.callRaw('order_ahead')).rejects.toMatchObject({
      code: -32042,
      data: { elicitations: [{ mode: 'url', message: 'Leave a card first.' }] },
    });
  });
});

describe('the OpenTelemetry example, with the official client', () => {
  test('works without a registered SDK too [OTEL-01]', async () => {
    const sdk = await connect(program('examples/opentelemetry/server.ts'));
    expect(Date.parse(textOf(await sdk.callRaw('now')))).not.toBeNaN();
  });
});

describe('the quickstart, with the official client', () => {
  test("greets from the client's root", async () => {
    const sdk = await connect(program('examples/quickstart/main.ts'), { roots: ['/tmp'] });
    expect(textOf(await sdk.callRaw('greet', { who: 'Ada' }))).toBe('Hello Ada, from file:///tmp');
  });
});
