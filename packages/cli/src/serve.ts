/** `mcp-actors serve`: the workspace server in a process of its own, over stdin and stdout or HTTP. */
import { homedir } from 'node:os';
import {
  createLog,
  dumpOnSignal,
  humanForm,
  jsonForm,
  quoted,
  serveToEnd,
  signalDrainTimeoutMs,
  stateName,
  streamSink,
} from 'mcp-actors/internal';
import type { CommandFact, LineSink, Log } from 'mcp-actors/internal';
import { createMcpServer, defaultLimits, stdio } from 'mcp-actors';
import type { ListenOptions, McpSession } from 'mcp-actors';
import { workspaceRootsUri, workspaceServer } from '@mcp-actors/workspace-server';
import type { ChosenProject, WorkspaceOptions } from '@mcp-actors/workspace-server';
import type { ServeInvocation } from './options/arguments.ts';
import { checkDirectories, refuseMistyped, workingDirectory } from './directories.ts';
import { options } from './options/serve-options.ts';
import { openInspector } from './inspector.ts';
import type { Serving } from './serve-http.ts';
import { fileSink } from './log-file.ts';
import { commandNames, packageVersion } from './command.ts';

/** `inspect` and `record` are options here. */
const commandsAndOptions = {
  what: 'a command',
  known: [
    ...commandNames,
    'serve',
    'help',
    'version',
    ...Object.keys(options).map((o) => `--${o}`),
  ],
};

/**
 * Serves until the client has gone or the process is told to end.
 *
 * @param script the command's module, as `import.meta.url`
 * @returns the process's exit code, once the log is flushed
 * @throws {UsageError} a directory or the log file cannot be used; nothing has been started
 */
export async function serveWorkspace(invocation: ServeInvocation, script: string): Promise<number> {
  const cwd = workingDirectory();
  if (invocation.place === 'where a command may stand') {
    refuseMistyped(invocation.directories, cwd, commandsAndOptions);
  }
  const given = checkDirectories(invocation.directories, cwd);
  const directories = given.all;
  const limits = { ...defaultLimits, ...invocation.limits };
  let session: McpSession | undefined = undefined;
  // Always made: without its listener, a broken stderr would end the process.
  const stderr = streamSink(process.stderr);
  const log = openLog(invocation, stderr, () => session && stateName(session.actor.getSnapshot()));

  const workspace: WorkspaceOptions = {
    directories,
    followRoots: invocation.followRoots,
    environment: process.env,
    cwd,
    home: homedir(),
    ...(invocation.chdir ? { chdir: (directory) => process.chdir(directory) } : {}),
    searchTimeoutMs: invocation.searchTimeoutMs,
    version: packageVersion(),
    onProject: (project) => log.report(projectFact(project)),
  };
  const { http, record } = invocation;
  const launch = { directories, followRoots: invocation.followRoots, cwd };
  const inspector = invocation.inspect && (await openInspector(invocation.inspect));
  const common = { ...inspector?.options, limits, report: log.report };
  let serving: Serving;
  if (http) {
    const { startHttp } = await import('./serve-http.ts');
    const environment =
      record && (await import('./recording.ts')).recordEach(record, launch, log.report);
    serving = await startHttp(http, workspace, { session: common, environment });
    if (serving.endpoint) inspector?.serves(serving.endpoint.url);
  } else {
    const environment = record && (await import('./recording.ts')).recordOne(record, launch);
    session = startStdio(workspace, { ...common, ...(environment ? { environment } : {}) });
    serving = servingOf(session, invocation.limits.drainTimeoutMs);
  }
  for (const message of given.faults) {
    log.report({
      level: 'warning',
      name: 'directory.unusable',
      message,
    } satisfies CommandFact);
  }
  const { ending, sessions, endpoint, drainTimeoutMs } = serving;
  const ended = serveToEnd(ending, log, drainTimeoutMs, inspector && (() => inspector.close()));
  dumpOnSignal({ dumps: () => sessions().map((each) => each.dump()), endpoint, stderr, log });
  if (!http && process.stdin.isTTY) await greet(script, given.usable);

  return ended;
}

function startStdio(options: WorkspaceOptions, listening: ListenOptions): McpSession {
  const workspace = workspaceServer(options);
  const session = createMcpServer(workspace.definition).listen(stdio(), {
    ...listening,
    onRootsUpdated: (report) => {
      workspace.rootsUpdated(report);
      session.resourceUpdated(workspaceRootsUri);
    },
  });
  return session;
}

function servingOf(session: McpSession, drainTimeoutMs = signalDrainTimeoutMs): Serving {
  return { ending: session, sessions: () => [session], drainTimeoutMs };
}

function projectFact({ path, why }: ChosenProject): CommandFact {
  if (path === undefined) return { level: 'warning', name: 'project.missing', message: why };
  const message = `The project is ${quoted(path)}, from ${why}`;
  return { level: 'info', name: 'project.chosen', message, details: { path } };
}

function openLog(
  { logLevel, logFile }: ServeInvocation,
  stderr: LineSink,
  state: () => string | undefined,
): Log {
  if (logFile !== undefined) {
    return createLog({ level: logLevel, form: jsonForm, sink: fileSink(logFile), state });
  }
  const form = process.stderr.isTTY ? humanForm : jsonForm;
  return createLog({ level: logLevel, form, sink: stderr, state });
}

async function greet(script: string, directories: readonly string[]): Promise<void> {
  const { terminalGreeting } = await import('./config.ts');
  process.stderr.write(await terminalGreeting(script, process.argv.slice(2), directories));
}
