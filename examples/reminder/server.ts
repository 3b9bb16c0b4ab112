/**
 * A reminder for tomorrow. The tool is a machine whose task is stored in a directory: it resumes on
 * time even if the server was killed or stopped meanwhile, and uses no memory while waiting.
 *
 * npx tsx examples/reminder/server.ts ./state
 */
import { createMcpServer, defineTool } from 'mcp-actors';
import type { ToolAnswer } from 'mcp-actors';
import { serve } from 'mcp-actors/serve';
import { setup } from 'xstate';

const dayMs = 24 * 3_600_000;
const { TOMORROW_MS: tomorrowMs = dayMs } = process.env;

// #region machine
const reminderMachine = setup({
  types: {
    context: {} as { readonly text: string },
    input: {} as { readonly text: string },
    events: {} as ToolAnswer,
    output: {} as string,
    tags: {} as 'waiting',
  },
  delays: { tomorrow: Number(tomorrowMs) },
}).createMachine({
  id: 'reminder',
  context: ({ input: { text } }) => ({ text }),
  initial: 'sleeping',
  states: {
    sleeping: { after: { tomorrow: 'asking' } },
    asking: {
      tags: 'waiting',
      meta: {
        ask: ({ context: { text } }: { context: { readonly text: string } }) => ({
          elicit: {
            message: `${text}: done? Decline to be reminded again tomorrow.`,
            schema: { type: 'object', properties: {} },
          },
        }),
      },
      on: {
        'answer.accepted': 'done',
        'answer.declined': 'sleeping',
        'answer.cancelled': 'sleeping',
      },
    },
    done: { type: 'final' },
  },
  output: ({ context: { text } }) => `Done: ${text}`,
});

const remind = defineTool({
  name: 'remind',
  description: 'Reminds the user of something tomorrow, and every day until it is done',
  taskSupport: 'required',
  inputSchema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
  machine: reminderMachine,
});

const [state = './state'] = process.argv.slice(2);
const server = createMcpServer({ name: 'reminder', version: '1.0.0', tools: [remind] });

// A task is deleted after its time to live, whatever it waits for.
const limits = { taskTtlMs: 30 * dayMs, maxTaskTtlMs: 30 * dayMs };
await serve(server, { durable: state, limits });
// #endregion
