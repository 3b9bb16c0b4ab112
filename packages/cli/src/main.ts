/** Runs the named command. Default: `serve`. */
import { exitProcess, printableLines } from 'mcp-actors/internal';
import type { prestart } from 'mcp-actors/internal';
import { readArguments } from './options/arguments.ts';
import { UsageError, packageVersion, print } from './command.ts';
import { commands } from './commands.ts';

/**
 * Parses the arguments, runs the command, and exits.
 *
 * @param script the command's module, as `import.meta.url`
 * @param ahead server started in advance
 */
export function main(script: string, ahead: prestart.Prestarted | undefined): void {
  // Exit explicitly, because a tool's handler may keep the event loop alive.
  void run(script, ahead)
    .catch(fail)
    .then((code) => exitProcess(code));
}

/** Resolves with the exit code. */
async function run(script: string, ahead: prestart.Prestarted | undefined): Promise<number> {
  const invocation = readArguments(process.argv.slice(2), process.env);
  switch (invocation.kind) {
    case 'help': {
      const { helpText, topicText } = await import('./help.ts');
      const { topic } = invocation;
      await print(process.stdout, topic === undefined ? helpText() : topicText(topic));
      return 0;
    }
    case 'usage': {
      const { helpText } = await import('./help.ts');
      // A host would read help on stdout as messages.
      const isPerson = process.stdin.isTTY;
      await print(isPerson ? process.stdout : process.stderr, helpText());
      return isPerson ? 0 : 2;
    }
    case 'version':
      await print(process.stdout, `${packageVersion()}\n`);
      return 0;
    case 'serve':
    case 'workspace': {
      const { kind, openApi, watch } = invocation;
      if (kind === 'serve' && openApi === undefined && watch === undefined) {
        const { serveModule } = await import('./serve-module.ts');
        return serveModule(invocation);
      }
      const { serveWorkspace } = await import('./serve.ts');
      return serveWorkspace(invocation, script);
    }
    case 'command': {
      const { command } = await commands[invocation.name].load();
      return command.run(invocation.args, script, ahead);
    }
  }
}

async function fail(error: unknown): Promise<number> {
  const isUsage = error instanceof UsageError;
  const lines = textToPrint(error).split('\n');
  // Arguments and files may contain terminal control sequences.
  const said = printableLines(lines);
  // Messages of commands already start with the command.
  await print(process.stderr, /^mcp-actors\b/.test(said) ? `${said}\n` : `mcp-actors: ${said}\n`);
  return isUsage ? 2 : 1;
}

/** A usage error or a missing package needs no stack. */
function textToPrint(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // Compared by code, because the module may have its own copy of the library.
  const isMissingPackage = 'code' in error && error.code === 'MISSING_PACKAGE';
  return error instanceof UsageError || isMissingPackage
    ? error.message
    : (error.stack ?? error.message);
}
