/**
 * Tools that return `input_required` and get the answers with the client's retry. And a prompt that
 * does.
 */
import { defineForm, definePrompt, defineTool } from 'mcp-actors';
import type { Tool } from 'mcp-actors';

const nameForm = defineForm({
  type: 'object',
  properties: { name: { type: 'string' } },
  required: ['name'],
});

const confirmation = defineForm({
  type: 'object',
  properties: { ok: { type: 'boolean' } },
  required: ['ok'],
});

const elicitation = defineTool({
  name: 'test_input_required_result_elicitation',
  description: 'Asks the user for a name, and greets',
  handler: async (_args, context) => {
    const request = { message: 'What is your name?', schema: nameForm };
    const answer = await context.elicit(request, { key: 'user_name' });
    return answer.action === 'accept'
      ? `Hello, ${answer.content.name}!`
      : 'Hello, whoever you are!';
  },
});

const sampling = defineTool({
  name: 'test_input_required_result_sampling',
  description: "Asks the client's model for a capital",
  handler: async (_args, context) => {
    const messages = [{ role: 'user' as const, content: 'What is the capital of France?' }];
    const { text } = await context.sample({ messages, maxTokens: 100 });
    return `The model says: ${text}`;
  },
});

const listRoots = defineTool({
  name: 'test_input_required_result_list_roots',
  description: "Counts the client's roots",
  handler: async (_args, context) => `Found ${(await context.roots()).roots.length} roots`,
});

/** The answers travel with the client in a sealed state. */
const confirmed = (name: string, result: string) =>
  defineTool({
    name,
    description: 'Asks the user to confirm',
    handler: async (_args, context) => {
      const answer = await context.elicit({ message: 'Please confirm', schema: confirmation });
      return answer.action === 'accept' ? result : `Not confirmed: ${answer.action}`;
    },
  });

const multipleInputs = defineTool({
  name: 'test_input_required_result_multiple_inputs',
  description: 'Asks for a name, a greeting and the roots at once',
  handler: async (_args, context) => {
    const messages = [{ role: 'user' as const, content: 'Generate a greeting' }];
    const [user, greeting, { roots }] = await Promise.all([
      context.elicit({ message: 'What is your name?', schema: nameForm }, { key: 'user_name' }),
      context.sample({ messages, maxTokens: 50 }, { key: 'greeting' }),
      context.roots(),
    ]);
    const name = user.action === 'accept' ? user.content.name : 'somebody';
    return `${greeting.text} This is for ${name}, with ${roots.length} roots`;
  },
});

const multiRound = defineTool({
  name: 'test_input_required_result_multi_round',
  description: 'Asks for a name, and then for a colour',
  handler: async (_args, context) => {
    const user = await context.elicit({ message: 'What is your name?', schema: nameForm });
    const schema = { type: 'object', properties: { color: { type: 'string' } } } as const;
    const liked = await context.elicit({ message: 'Which colour do you like?', schema });
    const name = user.action === 'accept' ? user.content.name : 'Somebody';
    const color = liked.action === 'accept' ? liked.content.color : 'no colour';
    return `${name} likes ${color}`;
  },
});

const capabilities = defineTool({
  name: 'test_input_required_result_capabilities',
  description: 'Asks the client for what it can do, and for nothing else',
  handler: async (_args, context) => {
    const { elicitation: canElicit, sampling: canSample } = context.client.capabilities;
    const messages = [{ role: 'user' as const, content: 'Say something' }];
    const asked = await Promise.all([
      canElicit ? context.elicit({ message: 'Please confirm', schema: confirmation }) : undefined,
      canSample ? context.sample({ messages, maxTokens: 50 }) : undefined,
    ]);
    return `Asked for ${asked.filter(Boolean).length} things`;
  },
});

const missingCapability = defineTool({
  name: 'test_missing_capability',
  description: "Needs the client's model",
  handler: async (_args, context) => {
    const messages = [{ role: 'user' as const, content: 'Say something' }];
    return (await context.sample({ messages, maxTokens: 50 })).text;
  },
});

const streaming = defineTool({
  name: 'test_streaming_elicitation',
  description: 'Asks the user, and says how far it is',
  handler: async (_args, context) => {
    context.progress(0, { total: 1, message: 'asking' });
    const { action } = await context.elicit({ message: 'Please confirm', schema: confirmation });
    context.progress(1, { total: 1, message: 'asked' });
    return `The user chose to ${action}`;
  },
});

export const roundTools: readonly Tool[] = [
  elicitation,
  sampling,
  listRoots,
  confirmed('test_input_required_result_request_state', 'state-ok: the state came back'),
  multipleInputs,
  multiRound,
  confirmed('test_input_required_result_tampered_state', 'integrity-ok: the state is whole'),
  capabilities,
  missingCapability,
  streaming,
];

export const roundPrompt = definePrompt({
  name: 'test_input_required_result_prompt',
  title: 'Prompt that asks',
  description: 'A prompt that asks the user for its context',
  get: async (_args, context) => {
    const schema = { type: 'object', properties: { context: { type: 'string' } } } as const;
    const request = { message: 'What context should the prompt have?', schema };
    const answer = await context.elicit(request, { key: 'user_context' });
    return `Prompt with context: ${answer.action === 'accept' ? answer.content.context : 'none'}`;
  },
});
