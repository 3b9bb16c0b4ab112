/**
 * A test driver: executes commands given as JSON lines on stdin with the mcp-actors client, and
 * reports events as JSON lines on stdout. docs/maintaining/driver.md is its contract.
 *
 * npx tsx examples/driver/client.ts
 */
import { createRequire } from 'node:module';
import { readCommand } from './command.ts';
import { Driver } from './commands.ts';
import { errorText } from './translation.ts';

const tell = (event: object): void => {
  process.stdout.write(`${JSON.stringify(event)}\n`);
};

const { version } = createRequire(import.meta.url)('mcp-actors/package.json') as {
  readonly version: string;
};

tell({
  event: 'hello',
  driver: `mcp-actors ${version}`,
  features: [
    'legacy',
    'modern',
    'stdio',
    'http',
    'sse',
    'respawn',
    'manager',
    'watch',
    'auth',
    'stderr',
    'limits',
    'stop',
  ],
});

const driver = new Driver(tell);
/** Commands without a result yet. */
const open = new Set<Promise<void>>();

for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => void end());
// With nobody reading the output, nobody could shut down the servers.
process.stdout.on('error', () => void end());

// Lines end with LF only: JSON strings may contain other line separators.
let begun = '';
process.stdin.setEncoding('utf8');
process.stdin.on('data', (chunk: string) => {
  const [first = '', ...others] = chunk.split('\n');
  const last = others.pop();
  if (last === undefined) {
    begun += first;
    return;
  }
  for (const line of [begun + first, ...others]) take(line);
  begun = last;
});
process.stdin.on('end', () => {
  if (begun !== '') take(begun);
  void end();
});

function take(line: string): void {
  const result = obey(line).finally(() => open.delete(result));
  open.add(result);
}

async function obey(line: string): Promise<void> {
  const reading = readCommand(line);
  if ('error' in reading) {
    const { ref, error } = reading;
    tell({ event: 'result', ref, ok: false, error: errorText(error) });
    return;
  }
  const { op, ref } = reading.command;
  if (driver.isRunning(ref)) {
    const message = `The ref ${ref} is that of a command that has no result yet`;
    tell({ event: 'result', ref: null, ok: false, error: { code: 'CONFIG', message } });
    return;
  }
  try {
    tell({ event: 'result', ref, ok: true, value: await driver.run(reading.command) });
  } catch (error) {
    tell({ event: 'result', ref, ok: false, error: errorText(error) });
  }
  if (op === 'shutdown') void end();
}

/** Every command has its result before the end. */
async function end(): Promise<void> {
  await driver.shutdown();
  await Promise.all(open);
  process.stdout.write('', () => process.exit(0));
}
