/** `mcp-actors serve FILE`: the server of a module, whose tasks and calls outlive its process if `--durable` is given. */
import { createRequire } from 'node:module';
import { homedir } from 'node:os';
import { pathToFileURL } from 'node:url';
import { processLog, serving, textOfError } from 'mcp-actors/internal';
import type { McpServer } from 'mcp-actors';
import type * as serveEntry from 'mcp-actors/serve';
import { UsageError } from './command.ts';
import { openInspector } from './inspector.ts';
import { isDirectory } from './directories.ts';
import { fileSink } from './log-file.ts';
import { loaderFor, moduleAt, serverIn } from './module-server.ts';
import type { ServeInvocation } from './options/arguments.ts';

/**
 * Serves until the host disconnects or a signal arrives.
 *
 * @returns the exit code
 * @throws {UsageError} if the module cannot be served or an option does not apply to modules
 */
export async function serveModule(invocation: ServeInvocation): Promise<number> {
  const { durable, limits, logLevel, logFile, inspect, record } = invocation;
  const file = moduleAt(fileIn(invocation));
  const server = await loaded(file);
  const { serve } = await libraryOf(file);
  const inspector = inspect && (await openInspector(inspect));
  const log =
    logFile === undefined ? undefined : processLog({ level: logLevel, sink: fileSink(logFile) });
  const launch = { directories: [], followRoots: false, cwd: process.cwd(), home: homedir() };
  const environment = record && (await import('./recording.ts')).recordOne(record, launch);
  await serve(server, {
    ...{ limits, ...inspector?.options },
    ...(durable === undefined ? {} : { durable }),
    ...(log ? { report: log.report } : { logLevel }),
    ...(environment ? { environment } : {}),
    beforeExit: async () => {
      await inspector?.close();
      await log?.close();
    },
  });
  return 0;
}

function fileIn({ paths: [file, ...others], ...invocation }: ServeInvocation): string {
  const { http, followRoots, primaryRoot, chdir, durable, unsupervised } = invocation;
  const unfit = Object.entries({
    '--http': http,
    ...{ '--follow-roots': followRoots || undefined, '--primary-root': primaryRoot },
    '--chdir': chdir || undefined,
  }).flatMap(([name, value]) => (value === undefined ? [] : [name]));
  if (unfit.length > 0) {
    throw new UsageError(
      `serve FILE must stand without ${unfit.join(', ')}: it serves a module over stdio. For HTTP, call serve(server, { http }) in the module. For directories: mcp-actors workspace`,
    );
  }
  if (file === undefined) {
    throw new UsageError(
      'serve needs a module: mcp-actors serve FILE. For directories: mcp-actors workspace DIR',
    );
  }
  if (others.length > 0) {
    throw new UsageError(`serve must get one module, got ${others.length + 1}`);
  }
  if (isDirectory(file)) {
    throw new UsageError(
      `${JSON.stringify(file)} is a directory, and serve needs a module. For directories: mcp-actors workspace ${file}`,
    );
  }
  if (unsupervised && durable === undefined) throw new UsageError('--unsupervised needs --durable');
  return file;
}

/**
 * Imports the library as the module resolves it, because server and `serve` must come from the same
 * copy. Uses `require` if the module was required, as tsx does without `"type": "module"`.
 *
 * @throws {UsageError} if it is not installed there
 */
async function libraryOf(file: string): Promise<typeof serveEntry> {
  const require = createRequire(file);
  try {
    const path = require.resolve('mcp-actors/serve');
    const isRequired = require.cache[file] !== undefined;
    return (
      isRequired ? require(path) : await import(pathToFileURL(path).href)
    ) as typeof serveEntry;
  } catch (error) {
    const message = `${file} cannot import mcp-actors/serve: ${textOfError(error)}`;
    throw new UsageError(message, { cause: error });
  }
}

/** @throws {UsageError} if the module fails or has no server */
async function loaded(file: string): Promise<McpServer> {
  const loader = /\.[cm]?tsx?$/.test(file) ? loaderFor(file, 'serve') : undefined;
  // Give the module its own command line.
  process.argv.splice(1, process.argv.length, file);
  try {
    if (loader !== undefined) await import(loader);
    const { href } = pathToFileURL(file);
    return serverIn(await serving.runOrServe(() => import(href) as Promise<object>));
  } catch (error) {
    const text = error instanceof Error ? (error.stack ?? error.message) : textOfError(error);
    throw new UsageError(`${file} cannot be served: ${text}`, { cause: error });
  }
}
