/** `mcp-actors bridge lock`: writes the lock file of servers and tools, or compares it. */
import { basename } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { ProtocolError, connect } from 'mcp-actors/client';
import type { HostsConfig } from 'mcp-actors/client';
import { exitProcess, printableName, serversLock, textOfError } from 'mcp-actors/internal';
import { UsageError, print } from './command.ts';
import {
  clientOptions,
  connectingOptions,
  hideSecretsOf,
  printMessages,
  printConfigProblems,
} from './client/client-options.ts';
import { configOf, lockFileOf, readTarget } from './client/target.ts';
import { interruptible } from './interruption.ts';
import { optionsText } from './options/option.ts';
import type { OptionTable } from './options/option.ts';
import { commandOf, helpOption } from './options/parse-options.ts';

/** Options of the command, also used to generate the documentation. */
const bridgeLockOptions = {
  lock: {
    kind: 'text',
    placeholder: 'FILE',
    help: 'Lock file. Default: mcp-lock.json next to the file of servers, or in the current directory.',
  },
  update: {
    kind: 'switch',
    help: 'Show the differences, ask for consent, and write them.',
  },
  yes: { kind: 'switch', help: 'With --update: write without asking, for scripts.' },
  header: clientOptions.header,
  login: clientOptions.login,
  device: clientOptions.device,
  'client-id': clientOptions['client-id'],
  'client-secret-env': clientOptions['client-secret-env'],
  'client-metadata-url': clientOptions['client-metadata-url'],
  'callback-port': clientOptions['callback-port'],
  era: clientOptions.era,
  help: helpOption,
} as const satisfies OptionTable;

const help = `Usage: mcp-actors bridge lock [options] FILE
       mcp-actors bridge lock [options] URL
       mcp-actors bridge lock [options] -- COMMAND [ARGUMENTS...]

Connects to each server and writes to mcp-lock.json its command or URL, its
name and version, and digests of its tools' descriptions. From then on mcp-actors bridge
offers only these tools.

If the lock exists, it shows the differences and writes nothing. With --update it
asks and writes.

Options:
${optionsText(bridgeLockOptions)}

Exit status: 0 if the lock was written or is up to date, 1 if differences were not
written or a server cannot be reached, 2 for a usage error, 130 after Ctrl-C.
`;

const name = 'mcp-actors bridge lock';

export const command = commandOf(
  name,
  { options: bridgeLockOptions, help, launches: true },
  async (called) => {
    const { values } = called;
    const target = readTarget(name, { ...called, values: { ...values, env: [] } });
    if (target.rest.length > 0) throw new UsageError(`${name} takes one file or one server`);
    if (values.yes && !values.update) throw new UsageError('--yes needs --update');
    const file = lockFileOf(target, values.lock);
    const interruption = interruptible((code, signal) => void exitProcess(code, process, signal));
    try {
      const config = await configOf(target);
      await printConfigProblems(name, config);
      if (config.faults.length > 0) throw new UsageError('A file with errors cannot be locked');
      hideSecretsOf(config);
      const before = await serversLock.readLockFile(file);
      const isLaunched = called.launched !== undefined;
      const seen = await see(config, {
        ...connectingOptions({ ...values, env: [] }, (line) => void printMessages(name, line)),
        ...(isLaunched ? { inheritEnv: true } : {}),
        signal: interruption.signal,
      });
      const found = differencesOf(before, seen, 'file' in target.source);
      return await settle(file, { before, found, seen }, values, interruption.signal);
    } catch (error) {
      if (error instanceof UsageError) throw error;
      if (interruption.exitCode !== undefined) return interruption.exitCode;
      await printMessages(name, textOfError(error instanceof Error ? error.message : error));
      return 1;
    } finally {
      interruption.stop();
    }
  },
);

/** Current state of a server. */
interface Seen {
  readonly now: serversLock.LockedServer;
  readonly tools: Parameters<typeof serversLock.lockServer>[2];
}

type Connecting = NonNullable<Parameters<typeof connect>[1]>;

/** All client capabilities. Some servers list certain tools only to hosts that declare them. */
const everything = {
  elicitation: { form: {}, url: {} },
  sampling: { tools: {} },
  roots: {},
};

const refuse = (method: string): Promise<never> =>
  Promise.reject(new ProtocolError(-32601, `${method}: not answered while listing tools`));

/**
 * Connects to all servers.
 *
 * @throws if any fails, because a partial lock would block the tools of the others
 */
async function see(
  { servers }: HostsConfig,
  connecting: Connecting,
): Promise<ReadonlyMap<string, Seen>> {
  const looked = await Promise.allSettled(
    [...servers].flatMap(([server, hosted]) => {
      if (hosted.kind !== 'enabled') return [];
      const { entry, era } = hosted.settings;
      const options = { ...connecting, name: server, capabilities: everything, onRequest: refuse };
      return seeOne(server, entry, era === undefined ? options : { ...options, era });
    }),
  );
  const failed = looked.flatMap((each) =>
    each.status === 'rejected' ? [each.reason as unknown] : [],
  );
  if (failed.length > 0) {
    const lines = failed.map((error) =>
      textOfError(error instanceof Error ? error.message : error),
    );
    throw new Error(`Nothing was written.\n${lines.join('\n')}`);
  }
  return new Map(looked.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : [])));
}

async function seeOne(
  server: string,
  entry: Parameters<typeof connect>[0],
  options: Connecting,
): Promise<readonly [string, Seen]> {
  const connection = await connect(entry, options);
  try {
    const { info, capabilities } = connection.server ?? {};
    const tools = capabilities?.['tools'] === undefined ? [] : await connection.listTools();
    const named = info ?? { name: server, version: '' };
    return [server, { now: serversLock.lockServer(entry, named, tools), tools }];
  } finally {
    await connection.close();
  }
}

/**
 * Differences by server. Locked servers that were not examined count as removed only if the target
 * is the whole file.
 */
function differencesOf(
  before: serversLock.ServersLock | undefined,
  seen: ReadonlyMap<string, Seen>,
  isWhole: boolean,
): ReadonlyMap<string, readonly serversLock.LockDifference[]> {
  const locked = before?.servers ?? {};
  const names = new Set([...(isWhole ? Object.keys(locked) : []), ...seen.keys()]);
  const all = [...names].map((server) => {
    const { now, tools = [] } = seen.get(server) ?? {};
    const known = serversLock.lockedIn(locked, server);
    return [server, serversLock.serverDifferences(known, now, tools)] as const;
  });
  return new Map(all.filter(([, differences]) => differences.length > 0));
}

/** Comparison of the servers with the lock. */
interface Findings {
  readonly before: serversLock.ServersLock | undefined;
  readonly found: ReturnType<typeof differencesOf>;
  readonly seen: ReadonlyMap<string, Seen>;
}

/**
 * Prints the differences and writes them on request.
 *
 * @returns the exit code
 */
async function settle(
  file: string,
  { before, found, seen }: Findings,
  { update, yes }: { readonly update: boolean; readonly yes: boolean },
  signal: AbortSignal,
): Promise<number> {
  const kept = Object.entries(before?.servers ?? {}).filter(([server]) => !found.has(server));
  const now = [...seen].map(([server, each]) => [server, each.now] as const);
  const servers = Object.fromEntries([...kept, ...now]);
  const count = [...seen.values()].reduce((sum, { tools }) => sum + tools.length, 0);
  const shown = basename(file);
  const write = async () => {
    await serversLock.writeLockFile(file, { lockVersion: 1, servers });
    await printMessages(
      name,
      `${shown} has ${counted(seen.size, 'server')} with ${counted(count, 'tool')}`,
    );
    return 0;
  };
  if (!before) return await write();
  if (found.size === 0) {
    await printMessages(name, `${shown} is up to date`);
    return 0;
  }
  for (const [server, differences] of found) {
    for (const each of differences) {
      const tool = each.tool === undefined ? '' : ` ${printableName(each.tool)}`;
      const text = `${printableName(server)}${tool}: ${serversLock.textOfDifference(each)}\n`;
      await print(process.stdout, text);
    }
  }
  if (!update) {
    await printMessages(name, `${shown} was not changed. Accept the differences with --update`);
    return 1;
  }
  if (yes || (await agrees(signal))) return await write();
  await printMessages(name, `${shown} was not changed`);
  return 1;
}

const counted = (count: number, what: string) => `${count} ${what}${count === 1 ? '' : 's'}`;

/**
 * Asks for consent at the terminal.
 *
 * @throws {UsageError} without a terminal
 */
async function agrees(signal: AbortSignal): Promise<boolean> {
  if (!process.stdin.isTTY || !process.stderr.isTTY) {
    throw new UsageError('--update needs a terminal to ask at: use --yes to write without asking');
  }
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  lines.on('SIGINT', () => process.emit('SIGINT', 'SIGINT'));
  try {
    return /^y(es)?$/i.test(await lines.question('Accept these changes? [y/N] ', { signal }));
  } finally {
    lines.close();
  }
}
