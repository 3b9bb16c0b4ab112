/** Options and messages shared by `call` and `shell`. */
import { fileCredentialStore, formatConfigProblem } from 'mcp-actors/client';
import type {
  CredentialStore,
  Era,
  HostsConfig,
  LoginPrompt,
  PersonAuth,
  ServersOptions,
} from 'mcp-actors/client';
import { closestMatch, printable, printableLines, secretsGiven } from 'mcp-actors/internal';
import { UsageError, neverShow, print } from '../command.ts';
import { count } from '../options/option.ts';
import type { OptionTable } from '../options/option.ts';
import { watchOptions } from './watching.ts';

export const clientOptions = {
  server: {
    kind: 'text',
    placeholder: 'NAME',
    help: 'Use only this server of the file. Its tools can then be called without their prefix.',
  },
  header: {
    kind: 'texts',
    placeholder: 'NAME:VALUE',
    help: 'Send this header, such as a token, with every request to the URL. Repeatable. Its value is never shown.',
  },
  answer: {
    kind: 'text',
    placeholder: 'FILE',
    help: 'Answer elicitation requests from this JSON file: form values, "decline" or "cancel", or a list of these, one per request. Default: ask at the terminal; without a terminal, elicitation is not offered.',
  },
  login: {
    kind: 'switch',
    help: 'If a server requires a login, open the browser and print the URL to stderr. Tokens are stored in files that only you can read.',
  },
  device: {
    kind: 'switch',
    help: 'With --login: show a code to enter on another device, for a machine without a browser.',
  },
  'client-id': {
    kind: 'text',
    placeholder: 'ID',
    help: 'With --login and a URL: id of a client registered with the authorization server, if the server does not support dynamic registration. In a file: "clientId" in the server\'s "oauth".',
  },
  'client-secret-env': {
    kind: 'text',
    placeholder: 'NAME',
    help: 'Environment variable with the secret of that client. In a file: "clientSecret": "${NAME}".',
  },
  'client-metadata-url': {
    kind: 'text',
    placeholder: 'URL',
    help: 'With --login and a URL: URL of the client metadata document, if the authorization server supports it. In a file: "clientMetadataUrl".',
  },
  'callback-port': {
    ...count,
    bounds: { min: 1, max: 65_535 },
    default: undefined,
    help: 'With --login and a URL: use the registered redirect URI http://127.0.0.1:PORT/callback. Default: any free port. In a file: "callbackPort".',
  },
  era: {
    kind: 'choice',
    choices: ['auto', 'legacy', 'modern'],
    default: 'auto',
    help: 'Era of servers whose entry names none: legacy (up to 2025-11-25) or modern (since 2026-07-28). Default: detect it.',
  },
  env: {
    kind: 'texts',
    placeholder: 'NAME',
    help: 'Pass this variable of your environment to the server after --, which otherwise inherits only a few. Repeatable.',
  },
  verbose: {
    kind: 'switch',
    short: 'v',
    help: 'Print to stderr what servers write to their stderr, their log messages, and connection states.',
  },
  ...watchOptions,
} as const satisfies OptionTable;

/**
 * Reduces a configuration to one server.
 *
 * @throws {UsageError} if there is no such server
 */
export function selectServer(config: HostsConfig, name: string): HostsConfig {
  if (config.servers.has(name)) return selectServers(config, [name]);
  throw unknownServer(name, [...config.servers.keys()]);
}

/** Error for an unknown server. */
export function unknownServer(name: string, names: readonly string[]): UsageError {
  const near = closestMatch(name, names);
  const advice =
    near === undefined ? `Known servers: ${names.join(', ')}` : `Did you mean ${near}?`;
  return new UsageError(`Unknown server ${JSON.stringify(name)}. ${advice}`);
}

/** Reduces a configuration to these servers. */
export function selectServers(config: HostsConfig, names: readonly string[]): HostsConfig {
  const isOfThem = (fault: { readonly server?: string | undefined }) =>
    fault.server !== undefined && names.includes(fault.server);
  return {
    ...config,
    servers: new Map([...config.servers].filter(([name]) => names.includes(name))),
    faults: config.faults.filter(isOfThem),
    remarks: config.remarks.filter(isOfThem),
  };
}

/**
 * Registers the secrets of a configuration's servers, so that no output shows them even if a server
 * repeats them.
 */
export function hideSecretsOf({ servers }: HostsConfig): void {
  for (const server of servers.values()) {
    if (server.kind !== 'enabled') continue;
    const { entry, bridging } = server.settings;
    neverShow(secretsGiven(entry));
    if (bridging.auth?.kind === 'client-credentials') neverShow([bridging.auth.clientSecret]);
  }
}

/** Timeout for a login in the browser, milliseconds. */
export const loginTimeoutMs = 5 * 60_000;

/** Silent report: the command itself prints failures. */
export const silentReport = Object.assign(() => {}, { threshold: 'silent' } as const);

/**
 * Connection options from the command line.
 *
 * @param say prints a line for the user
 * @throws {UsageError} for `--device` without `--login`
 */
export function connectingOptions(
  {
    login,
    device,
    era,
    env,
  }: {
    readonly login: boolean;
    readonly device: boolean;
    readonly era: string;
    readonly env: readonly string[];
  },
  say: (line: string) => void,
): Pick<ServersOptions, 'auth' | 'report' | 'era' | 'inheritEnv'> {
  if (device && !login) throw new UsageError('--device needs --login');
  return {
    report: silentReport,
    ...(login
      ? { auth: personAuth({ device, waitMs: loginTimeoutMs, store: loginStore(undefined), say }) }
      : {}),
    ...(era === 'auto' ? {} : { era: era as Era }),
    ...(env.length === 0 ? {} : { inheritEnv: env }),
  };
}

/** Interactive login by the user. */
export function personAuth({
  device,
  waitMs,
  store,
  say,
}: {
  readonly device: boolean;
  /** Timeout, milliseconds. */
  readonly waitMs: number;
  readonly store: CredentialStore;
  readonly say: (line: string) => void;
}): PersonAuth {
  return {
    device,
    store,
    visitTimeoutMs: waitMs,
    ask: (prompt) => loginLines(prompt, waitMs).forEach(say),
  };
}

/** Login instructions: the URL, the code if any, and the deadline. */
function loginLines({ server, url, device }: LoginPrompt, waitMs: number): string[] {
  const { host } = new URL(server);
  const until = (ms: number): string => {
    const time = new Date(Date.now() + ms).toTimeString().slice(0, 8);
    return `${time} (${Math.round(ms / 6000) / 10} min)`;
  };
  if (!device) {
    const back = new URL(url).searchParams.get('redirect_uri') ?? 'this machine';
    return [
      `${host} requires a login. Open this URL if no browser window has opened:`,
      url,
      `Waiting for the browser to return to ${back} until ${until(waitMs)}`,
    ];
  }
  const { verificationUri, userCode, expiresInMs } = device;
  return [
    `${host} requires a login. Open this URL on any device:`,
    verificationUri,
    `and enter the code ${userCode}`,
    ...(url === verificationUri
      ? []
      : [`Or open this URL, and check that it shows the same code: ${url}`]),
    `Waiting until ${until(Math.min(waitMs, expiresInMs))}`,
  ];
}

/** Credential store in a directory. Default: the one shared by all commands. */
export function loginStore(folder: string | undefined): CredentialStore {
  return fileCredentialStore(folder === undefined ? {} : { folder });
}

/** Prints messages to stderr, prefixed with the command's name. */
export async function printMessages(command: string, ...lines: readonly string[]): Promise<void> {
  for (const line of lines) {
    await print(process.stderr, `${command}: ${printableLines(line.split('\n'))}\n`);
  }
}

/**
 * Prints problems of a configuration and ignored keys.
 *
 * @throws {UsageError} if no server is usable
 */
export async function printConfigProblems(command: string, config: HostsConfig): Promise<void> {
  const { faults, remarks, servers } = config;
  await printMessages(command, ...[...faults, ...remarks].map(formatConfigProblem));
  const isUsable = [...servers.values()].some(({ kind }) => kind === 'enabled');
  if (faults.length > 0 && !isUsable) throw new UsageError('No usable server in the configuration');
}

/** Formats names and descriptions in two columns. */
export function columns(
  rows: readonly (readonly [name: string, text: string])[],
  terminalWidth: number | undefined = process.stdout.columns,
): string {
  const width = Math.min(40, Math.max(0, ...rows.map(([name]) => name.length)));
  // Terminals wrap lines in the middle of a word.
  const left = Math.max(20, (terminalWidth ?? Infinity) - width - 2);
  const indent = `\n${' '.repeat(width + 2)}`;
  return rows
    .map(([name, text]) => {
      const lines = inLines(printable(firstLine(text), 160), left);
      return `${printable(name).padEnd(width)}  ${lines.join(indent)}`;
    })
    .map((line) => `${line.trimEnd()}\n`)
    .join('');
}

/** Wraps at word boundaries. A word longer than a line gets its own line. */
function inLines(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    if (last === undefined || last.length + 1 + word.length > width) lines.push(word);
    else lines[lines.length - 1] = `${last} ${word}`;
  }
  return lines;
}

const firstLine = (text: string): string => /^[^\n]*/.exec(text.trim())?.[0] ?? '';
