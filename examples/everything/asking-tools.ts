/** Tools that send requests to the client: to its model and to its user. */
import { ToolError, defineForm, defineTool } from 'mcp-actors';
import type { HandlerContext, Tool } from 'mcp-actors';

const sampling = defineTool({
  name: 'test_sampling',
  description: "Asks the client's model",
  inputSchema: {
    type: 'object',
    properties: { prompt: { type: 'string', description: 'What the model is asked' } },
    required: ['prompt'],
  },
  handler: async ({ prompt }, context) => {
    const sample = await context
      .sample({ messages: [{ role: 'user', content: prompt }], maxTokens: 100 })
      .catch(explained);
    return `LLM response: ${sample.text}`;
  },
});

const elicitation = defineTool({
  name: 'test_elicitation',
  description: 'Asks the user',
  inputSchema: {
    type: 'object',
    properties: { message: { type: 'string', description: 'What the user is asked' } },
    required: ['message'],
  },
  handler: ({ message }, context) => filledIn(context, 'User response', message, reply),
});

const reply = defineForm({
  type: 'object',
  properties: { response: { type: 'string', description: "User's response" } },
  required: ['response'],
});

const withDefaults = defineTool({
  name: 'test_elicitation_sep1034_defaults',
  description: 'Asks the user with a form that is filled in already',
  handler: (_args, context) =>
    filledIn(context, 'Elicitation completed', 'Please look through the form', preferences),
});

const preferences = defineForm({
  type: 'object',
  properties: {
    name: { type: 'string', description: 'Name', default: 'John Doe' },
    age: { type: 'integer', description: 'Age in years', default: 30 },
    score: { type: 'number', description: 'Score', default: 95.5 },
    status: {
      type: 'string',
      description: 'Status',
      enum: ['active', 'inactive', 'pending'],
      default: 'active',
    },
    verified: { type: 'boolean', description: 'Whether it is verified', default: true },
  },
});

const withEnums = defineTool({
  name: 'test_elicitation_sep1330_enums',
  description: 'Asks the user to choose, in each way that a form has for it',
  handler: (_args, context) => filledIn(context, 'Elicitation completed', 'Please choose', choices),
});

const choices = defineForm({
  type: 'object',
  properties: {
    untitledSingle: { type: 'string', enum: ['option1', 'option2', 'option3'] },
    titledSingle: {
      type: 'string',
      oneOf: [
        { const: 'value1', title: 'First option' },
        { const: 'value2', title: 'Second option' },
        { const: 'value3', title: 'Third option' },
      ],
    },
    legacyEnum: {
      type: 'string',
      enum: ['opt1', 'opt2', 'opt3'],
      enumNames: ['Option one', 'Option two', 'Option three'],
    },
    untitledMulti: {
      type: 'array',
      items: { type: 'string', enum: ['option1', 'option2', 'option3'] },
    },
    titledMulti: {
      type: 'array',
      items: {
        anyOf: [
          { const: 'value1', title: 'First choice' },
          { const: 'value2', title: 'Second choice' },
          { const: 'value3', title: 'Third choice' },
        ],
      },
    },
  },
});

/** Shows the user a form and reports the answer. */
async function filledIn(
  context: HandlerContext,
  what: string,
  message: string,
  schema: ReturnType<typeof defineForm>,
): Promise<string> {
  const answer = await context.elicit({ message, schema }).catch(explained);
  const content = answer.action === 'accept' ? answer.content : {};
  return `${what}: action=${answer.action}, content=${JSON.stringify(content)}`;
}

/** Lets the model know why the request failed, so that it can continue without an answer. */
function explained(error: unknown): never {
  throw new ToolError(error instanceof Error ? error.message : String(error));
}

export const askingTools: readonly Tool[] = [sampling, elicitation, withDefaults, withEnums];
