/** `mcp-actors workspace`: the workspace server, over stdio or HTTP; also `serve --openapi` and `serve --watch`. */
import { homedir } from 'node:os';
import { processLog, quoted, waitForExit } from 'mcp-actors/internal';
import { createMcpServer, defaultLimits, stateName, stdio } from 'mcp-actors';
import type { Fact, ListenOptions, McpSession } from 'mcp-actors';
import { workspaceRootsUri, workspaceServer } from '@mcp-actors/workspace-server';
import type { ChosenProject, WorkspaceOptions } from '@mcp-actors/workspace-server';
import type { ServeInvocation } from './options/arguments.ts';
import { checkDirectories, workingDirectory } from './directories.ts';
import { primaryRootIn } from './options/serve-options.ts';
import { openInspector } from './inspector.ts';
import { fileSink } from './log-file.ts';
import { UsageError, packageVersion } from './command.ts';

/** Log facts of a workspace server. */
type WorkspaceFact = Fact<
  /** A directory on the command line is unusable. */
  | 'directory.unusable'
  /** Another project was selected, or for another reason. */
  | 'project.chosen'
  /** No project: neither the roots nor their fallbacks give a directory. */
  | 'project.missing'
  /** A skill of the project is skipped. */
  | 'skill.skipped'
>;

/**
 * Serves until the client disconnects or a signal arrives.
 *
 * @param script the command's module, as `import.meta.url`
 * @returns the exit code, after flushing the log
 * @throws {UsageError} if a directory or the log file is unusable; nothing was started
 */
export async function serveWorkspace(invocation: ServeInvocation, script: string): Promise<number> {
  const cwd = workingDirectory();
  const { kind, openApi, watch, paths } = invocation;
  const served = [
    ...(openApi ? ['--openapi'] : []),
    ...(watch === undefined ? [] : ['--watch']),
    ...(kind === 'workspace' ? ['a workspace'] : []),
    ...(kind === 'serve' && paths.length > 0 ? ['a module'] : []),
  ];
  if (served.length > 1)
    throw new UsageError(`One thing is served: give either ${served.join(' or ')}`);
  const unfit = [
    ...(invocation.durable === undefined ? [] : ['--durable']),
    ...(invocation.unsupervised ? ['--unsupervised'] : []),
  ];
  if (unfit.length > 0) {
    throw new UsageError(
      `${unfit.join(', ')}: only a module has durable calls. See mcp-actors help serve`,
    );
  }
  const given = checkDirectories(paths, cwd);
  const directories = given.all;
  const limits = { ...defaultLimits, ...invocation.limits };
  let session: McpSession | undefined = undefined;
  const { logLevel: level, logFile, primaryRoot } = invocation;
  const log = processLog({
    level,
    sink: logFile === undefined ? undefined : fileSink(logFile),
    state: () => session && stateName(session.actor.getSnapshot()),
  });

  const primary = primaryRootIn(primaryRoot);
  const workspace: WorkspaceOptions = {
    directories,
    followRoots: invocation.followRoots,
    ...(primary === undefined ? {} : { primaryRoot: primary }),
    environment: process.env,
    cwd,
    home: homedir(),
    ...(invocation.chdir ? { chdir: (directory) => process.chdir(directory) } : {}),
    searchTimeoutMs: invocation.searchTimeoutMs,
    version: packageVersion(),
    onProject: (project) => log.report(projectFact(project)),
    onSkippedSkill: (message) => {
      const fact: WorkspaceFact = { level: 'warning', name: 'skill.skipped', message };
      log.report(fact);
    },
  };
  const { http, record } = invocation;
  const api =
    openApi && (await (await import('./serve-openapi.ts')).openApiServer(openApi, log.report));
  const developed =
    watch === undefined
      ? undefined
      : (await import('./dev/dev.ts')).develop(watch, !!http, log.report);
  const own = api ?? developed?.server;
  const launch = {
    directories,
    followRoots: invocation.followRoots,
    ...(primaryRoot === undefined ? {} : { primaryRoot }),
    cwd,
  };
  const inspector = invocation.inspect && (await openInspector(invocation.inspect));
  const common = { ...inspector?.options, limits, report: log.report };
  let serving: Parameters<typeof waitForExit>[0];
  if (http) {
    const { serveOverHttp } = await import('./serve-http.ts');
    const { workspacesOf } = await import('./workspaces.ts');
    const server = own ?? workspacesOf(workspace);
    const environment =
      record && (await import('./recording.ts')).recordEach(record, launch, log.report);
    const served = await serveOverHttp(http, () => server, common, environment);
    inspector?.serves(served.endpoint.url);
    serving = served;
  } else {
    const environment = record && (await import('./recording.ts')).recordOne(record, launch);
    const listening = { ...common, ...(environment ? { environment } : {}) };
    const only = own ? own.listen(stdio(), listening) : startStdio(workspace, listening);
    session = only;
    serving = { ending: only, sessions: () => [only] };
  }
  for (const message of own ? [] : given.faults) {
    const fact: WorkspaceFact = { level: 'warning', name: 'directory.unusable', message };
    log.report(fact);
  }
  const { drainTimeoutMs } = invocation.limits;
  const release = async () => {
    developed?.close();
    await inspector?.close();
  };
  const ended = waitForExit(serving, { log, drainTimeoutMs, release });
  if (!http && !own && process.stdin.isTTY) await greet(script, given.usable);

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

function projectFact({ path, why }: ChosenProject): WorkspaceFact {
  if (path === undefined) return { level: 'warning', name: 'project.missing', message: why };
  const message = `The project is ${quoted(path)}, from ${why}`;
  return { level: 'info', name: 'project.chosen', message, details: { path } };
}

async function greet(script: string, directories: readonly string[]): Promise<void> {
  const { terminalGreeting } = await import('./config.ts');
  process.stderr.write(await terminalGreeting(script, process.argv.slice(2), directories));
}
