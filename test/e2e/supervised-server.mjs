/**
 * A server whose processes end themselves with SIGKILL, each at its own point: `POINTS=load:1,stdout.called:2` ends the first process when it is
 * loaded, and the second before it writes for the second time. Those that follow go on. `COUNT` names the file that counts the processes.
 */
import { appendFileSync, existsSync, statSync, writeSync } from 'node:fs';
import { createMcpServer, defineResource, defineTool } from 'mcp-actors';
import { serve } from 'mcp-actors/serve';

const { COUNT = '', POINTS = '', SUPERVISE } = process.env;
const isSupervisor = SUPERVISE !== undefined && process.env['MCP_ACTORS_SUPERVISED'] === undefined;
const before = COUNT !== '' && existsSync(COUNT) ? statSync(COUNT).size : 0;
if (COUNT !== '' && !isSupervisor) appendFileSync(COUNT, '.');
const [what, nth] = (POINTS.split(',')[before] ?? '').split(':');
const reached = new Map();

/** @param {string} label */
function reach(label) {
  const times = (reached.get(label) ?? 0) + 1;
  reached.set(label, times);
  if (!isSupervisor && label === what && times === Number(nth))
    process.kill(process.pid, 'SIGKILL');
}

reach('load');
if (what === 'exit') process.exit(Number(nth));
const write = process.stdout.write.bind(process.stdout);
Object.assign(process.stdout, {
  write: (...args) => {
    reach('stdout.called');
    const goesOn = write(...args);
    reach('stdout.answered');
    return goesOn;
  },
});

const tool = (name, handler, inputSchema) =>
  defineTool({ name, description: name, handler, ...(inputSchema ? { inputSchema } : {}) });

/** Writes all of it to stdout at once, past everything that would wait. */
function writeNow(text) {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length;) {
    try {
      at += writeSync(1, bytes, at);
    } catch (error) {
      if (error.code !== 'EAGAIN') throw error;
    }
  }
}

const text = { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] };
const server = createMcpServer({
  name: 'supervised',
  logging: true,
  version: '1.0.0',
  tools: [
    tool('pid', () => String(process.pid)),
    tool('length', (given) => String(given.text.length), text),
    tool('kill', () => {
      process.kill(process.pid, 'SIGKILL');
      return new Promise(() => {});
    }),
    tool('crash', () => {
      setImmediate(() => process.exit(3));
      return new Promise(() => {});
    }),
    tool('finish', () => {
      setImmediate(() => process.exit(0));
      return new Promise(() => {});
    }),
    tool('tear', () => {
      writeNow(
        `{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"${'x'.repeat(10 * 1024 ** 2)}`,
      );
      process.kill(process.pid, 'SIGKILL');
      return new Promise(() => {});
    }),
    tool('wait', () => new Promise(() => {})),
    tool('child', async () => {
      const { spawn } = await import('node:child_process');
      return String(
        spawn(process.execPath, ['-e', 'setInterval(() => {}, 1e6)'], { stdio: 'ignore' }).pid,
      );
    }),
    tool('ask', async (_, { elicit }) => {
      const { action } = await elicit({
        message: 'Sure?',
        schema: { type: 'object', properties: {} },
      });
      return action;
    }),
    tool('roots', async (_, { roots }) => (await roots()).roots.map(({ uri }) => uri).join(' ')),
    tool('log', (_, { log }) => {
      log.debug('debugged');
      return 'logged';
    }),
    tool('drain', async (_, { log }) => {
      const signalled = new Promise((resolve) => {
        process.once('SIGTERM', resolve);
      });
      log.error('begun');
      await signalled;
      return 'drained';
    }),
    tool('touch', () => {
      server.resourceUpdated('note://one');
      return 'touched';
    }),
  ],
  resources: [defineResource({ uri: 'note://one', name: 'one', read: () => 'text' })],
});

await serve(server, SUPERVISE === undefined ? {} : { supervise: true });
