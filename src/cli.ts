#!/usr/bin/env node
/** The `mcp-actors` command. */
import { readArguments } from './cli/options/arguments.ts';
import { commands } from './cli/commands.ts';
import { UsageError, print } from './cli/command.ts';
import { exitProcess } from './cli/process-end.ts';
import { serve } from './cli/serve.ts';
import { packageVersion } from './cli/version.ts';
import { printableLines } from './protocol/printable.ts';

/** Gives the process's exit code. */
async function run(): Promise<number> {
  const invocation = readArguments(process.argv.slice(2), process.env);
  switch (invocation.kind) {
    case 'help': {
      const { helpText } = await import('./cli/help.ts');
      await print(process.stdout, helpText());
      return 0;
    }
    case 'version':
      await print(process.stdout, `${packageVersion()}\n`);
      return 0;
    case 'serve':
      return serve(invocation, import.meta.url);
    case 'command': {
      const { command } = await commands[invocation.name].load();
      return command.run(invocation.args);
    }
  }
}

async function fail(error: unknown): Promise<number> {
  const isUsage = error instanceof UsageError;
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  const lines = (isUsage ? error.message : text).split('\n');
  // An argument or a file may hold what a terminal would obey.
  await print(process.stderr, `mcp-actors: ${printableLines(lines)}\n`);
  return isUsage ? 2 : 1;
}

// A handler of a tool's may hold the event loop open: the process ends when the session has, whatever is left.
void run()
  .catch(fail)
  .then((code) => exitProcess(code));
