/**
 * An official client calls a durable tool once while `kill -9` hits the server three times: in the
 * middle of the call, while a form is open, and shortly before the end.
 *
 * npm run demo
 */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { CallToolResultSchema, ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { createStory } from './story.ts';

const command = fileURLToPath(new URL('../../packages/cli/dist/cli.js', import.meta.url));
const server = fileURLToPath(new URL('invoices.ts', import.meta.url));
const story = createStory(process.stdout);

if (!existsSync(command)) {
  console.error(`${command} is not built yet: run "npm run build" first`);
  process.exit(2);
}

const folder = mkdtempSync(join(tmpdir(), 'demo-'));
const ledger = join(folder, 'ledger.txt');
const rows = (): string[] => readFileSync(ledger, 'utf8').trim().split('\n');

/** Kills the process that wrote the last row. */
function kill(): void {
  const pid = Number(/\d+$/.exec(rows().at(-1) ?? '')?.[0]);
  process.kill(pid, 'SIGKILL');
  story.change(`kill -9 ${pid}`);
}

const client = new Client(
  { name: 'demo', version: '1.0.0' },
  { capabilities: { elicitation: { form: {} } } },
);
let forms = 0;
client.setRequestHandler(ElicitRequestSchema, async ({ params }) => {
  forms++;
  story.tell('client', `opens a form: ${params.message}`);
  await sleep(500);
  kill();
  await sleep(1500);
  story.tell('client', 'sends the same form, still open: accept');
  return { action: 'accept', content: {} };
});

story.part('A host starts the server and calls its tool');
const args = [command, 'serve', server, '--durable', join(folder, 'state')];
story.tell('client', 'starts mcp-actors serve invoices.ts --durable ./state');
const transport = new StdioClientTransport({
  command: process.execPath,
  args: [...args, '--log-level', 'error'],
  env: { ...process.env, LEDGER: ledger } as { [name: string]: string },
});
await client.connect(transport);
story.tell('client', 'calls pay_invoices, as any client calls any tool');
const result = await client.request(
  { method: 'tools/call', params: { name: 'pay_invoices', arguments: {} } },
  CallToolResultSchema,
  {
    onprogress: ({ progress, message = '' }) => {
      story.tell(
        'server',
        `has paid invoice ${progress} of 10 ${message && `(${message})`}`.trim(),
      );
      if (progress === 3 || progress === 8) kill();
    },
  },
);
const [block] = result.content;
story.tell('server', `answers: ${block?.type === 'text' ? block.text : 'nothing'}`);
await client.close();

story.part('The ledger');
const paid = rows();
story.quote(paid.join('\n'));
const processes = new Set(paid.map((row) => row.replace(/.*process /, ''))).size;
const invoices = new Set(paid.map((row) => row.replace(/,.*/, ''))).size;
rmSync(folder, { recursive: true, force: true });
story.change(
  `${paid.length} rows, ${invoices} invoices, ${processes} processes, ${forms} form, 1 call`,
);
if (paid.length !== 10 || invoices !== 10 || forms !== 1) {
  console.error(
    'The ledger should have one row for each of ten invoices, and the form be shown once',
  );
  process.exitCode = 1;
}
