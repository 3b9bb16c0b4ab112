/**
 * A driver: carries out commands that come as JSON lines on stdin with the client of mcp-actors, and
 * tells what happens as JSON lines on stdout. docs/driver.md is its contract.
 *
 *     npx tsx examples/driver/client.ts
 */
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';
import { Driver } from './commands.ts';
import type { Command } from './commands.ts';
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

const lines = createInterface({ input: process.stdin, crlfDelay: Infinity });
lines.on('line', (line) => void obey(line));
lines.on('close', () => void end());
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => void end());

async function obey(line: string): Promise<void> {
  let command: Command | undefined;
  try {
    command = JSON.parse(line) as Command;
  } catch {
    // Told below, as what is JSON and no command.
  }
  const ref = typeof command?.ref === 'string' ? command.ref : null;
  if (!command || typeof command.op !== 'string' || !driver.knows(command.op)) {
    const message = `This is no command: ${line.slice(0, 200)}`;
    tell({ event: 'result', ref, ok: false, error: { code: 'CONFIG', message } });
    return;
  }
  try {
    tell({ event: 'result', ref, ok: true, value: await driver.run(command) });
  } catch (error) {
    tell({ event: 'result', ref, ok: false, error: errorText(error) });
  }
  if (command.op === 'shutdown') process.exit(0);
}

async function end(): Promise<void> {
  await driver.shutdown();
  process.exit(0);
}
