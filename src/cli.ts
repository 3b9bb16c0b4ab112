#!/usr/bin/env node
/** The `mcp-actors` command. */
import { readArguments } from './cli/arguments.ts';
import { serve } from './cli/serve.ts';
import { UsageError } from './cli/usage-error.ts';
import { packageVersion } from './cli/version.ts';

/** Gives the process's exit code. */
async function run(): Promise<number> {
  const invocation = readArguments(process.argv.slice(2), process.env);
  switch (invocation.kind) {
    case 'help': {
      const { helpText } = await import('./cli/help.ts');
      return print(process.stdout, helpText(), 0);
    }
    case 'version':
      return print(process.stdout, `${packageVersion()}\n`, 0);
    case 'serve':
      return serve(invocation, import.meta.url);
  }
}

function fail(error: unknown): Promise<number> {
  if (error instanceof UsageError) {
    return print(process.stderr, `mcp-actors: ${error.message}\n`, 2);
  }
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return print(process.stderr, `mcp-actors: ${text}\n`, 1);
}

/** Resolves once the text is out, or nobody is there to read it. */
function print(stream: NodeJS.WriteStream, text: string, code: number): Promise<number> {
  return new Promise((resolve) => {
    stream.on('error', () => resolve(code));
    stream.write(text, () => resolve(code));
  });
}

// A handler of a tool's may hold the event loop open: the process ends when the session has, whatever is left.
void run()
  .catch(fail)
  .then((code) => process.exit(code));
