/** What `call` and `shell` share: their options and their messages to a person. */
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
    help: "Only this server of the file. Tools are then named by the server's own names too.",
  },
  header: {
    kind: 'texts',
    placeholder: 'NAME:VALUE',
    help: 'Send this header with every request to the URL, such as a token; may be given more than once. It is never shown.',
  },
  answer: {
    kind: 'text',
    placeholder: 'FILE',
    help: 'Answer the questions of servers with this JSON file: the values of a form, "decline" or "cancel", or a list of those, one for each question. Without it a person at the terminal is asked, and without a terminal nothing is answered.',
  },
  login: {
    kind: 'switch',
    help: 'If a server wants a login, open the browser for it, and write the URL to stderr. Tokens are kept in files that only you can read.',
  },
  device: {
    kind: 'switch',
    help: 'With --login: show a code to enter on another device, for a machine without a browser.',
  },
  'client-id': {
    kind: 'text',
    placeholder: 'ID',
    help: 'With --login at a URL: the client that is registered at its authorization server, if that registers nobody by itself. In a file it stands in "oauth" of the server, as "clientId".',
  },
  'client-secret-env': {
    kind: 'text',
    placeholder: 'NAME',
    help: 'The environment variable that holds that client\'s secret. In a file: "clientSecret": "${NAME}".',
  },
  'client-metadata-url': {
    kind: 'text',
    placeholder: 'URL',
    help: 'With --login at a URL: the metadata document of the client, if the authorization server knows such. In a file: "clientMetadataUrl".',
  },
  'callback-port': {
    ...count,
    bounds: { min: 1, max: 65_535 },
    default: undefined,
    help: 'With --login at a URL: come back to http://127.0.0.1:PORT/callback, as it is registered. By default a free port is taken. In a file: "callbackPort".',
  },
  era: {
    kind: 'choice',
    choices: ['auto', 'legacy', 'modern'],
    default: 'auto',
    help: 'The era of servers whose entry says none: legacy, until 2025-11-25, or modern, since 2026-07-28. By default they are asked.',
  },
  env: {
    kind: 'texts',
    placeholder: 'NAME',
    help: 'Hand this variable of your environment on to the server behind --, which else inherits only a few; may be given more than once.',
  },
  verbose: {
    kind: 'switch',
    short: 'v',
    help: 'Show on stderr what servers write there, what they log, and each state of their connections.',
  },
  ...watchOptions,
} as const satisfies OptionTable;

/**
 * The configuration with only one server.
 *
 * @throws {UsageError} there is no such server
 */
export function onlyServer(config: HostsConfig, name: string): HostsConfig {
  if (config.servers.has(name)) return onlyServers(config, [name]);
  throw noServer(name, [...config.servers.keys()]);
}

/** The error for a server that there is not. */
export function noServer(name: string, names: readonly string[]): UsageError {
  const near = closestMatch(name, names);
  const advice = near === undefined ? `There are ${names.join(', ')}` : `Did you mean ${near}?`;
  return new UsageError(`There is no server ${JSON.stringify(name)}. ${advice}`);
}

/** The configuration with these servers alone. */
export function onlyServers(config: HostsConfig, names: readonly string[]): HostsConfig {
  const isOfThem = (fault: { readonly server?: string | undefined }) =>
    fault.server !== undefined && names.includes(fault.server);
  return {
    ...config,
    servers: new Map([...config.servers].filter(([name]) => names.includes(name))),
    faults: config.faults.filter(isOfThem),
    remarks: config.remarks.filter(isOfThem),
  };
}

/** Hides the secrets of a configuration's servers everywhere, even if a server repeats them. */
export function hideSecretsOf({ servers }: HostsConfig): void {
  for (const server of servers.values()) {
    if (server.kind !== 'enabled') continue;
    const { entry, bridging } = server.settings;
    neverShow(secretsGiven(entry));
    if (bridging.auth?.kind === 'client-credentials') neverShow([bridging.auth.clientSecret]);
  }
}

/** How long a person has for a login in the browser, milliseconds. */
export const loginTimeoutMs = 5 * 60_000;

/** A command says itself what has failed, so that no connection logs it besides. */
export const saysItself = Object.assign(() => {}, { threshold: 'silent' } as const);

/**
 * How connections of a command are made: a person may log in if they have asked for it.
 *
 * @param say shows a line to the person
 * @throws {UsageError} `--device` without `--login`
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
  if (device && !login) throw new UsageError('--device is about a login: add --login');
  return {
    report: saysItself,
    ...(login
      ? { auth: personAuth({ device, waitMs: loginTimeoutMs, store: loginStore(undefined), say }) }
      : {}),
    ...(era === 'auto' ? {} : { era: era as Era }),
    ...(env.length === 0 ? {} : { inheritEnv: env }),
  };
}

/** A login of the person at the command. */
export function personAuth({
  device,
  waitMs,
  store,
  say,
}: {
  readonly device: boolean;
  /** How long it may take them, milliseconds. */
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

/** What a person is told of a login: where to go, and until when the command waits for them. */
function loginLines({ server, url, device }: LoginPrompt, waitMs: number): string[] {
  const { host } = new URL(server);
  const until = (ms: number): string => {
    const time = new Date(Date.now() + ms).toTimeString().slice(0, 8);
    return `${time} (${Math.round(ms / 6000) / 10} min)`;
  };
  if (!device) {
    const back = new URL(url).searchParams.get('redirect_uri') ?? 'this machine';
    return [
      `${host} wants a login. Open this in a browser, if it has not opened by itself:`,
      url,
      `Waiting for the browser to come back to ${back} until ${until(waitMs)}`,
    ];
  }
  const { verificationUri, userCode, expiresInMs } = device;
  return [
    `${host} wants a login. Open this on any device:`,
    verificationUri,
    `and enter the code ${userCode}`,
    ...(url === verificationUri ? [] : [`Or open this, and see that it shows that code: ${url}`]),
    `Waiting until ${until(Math.min(waitMs, expiresInMs))}`,
  ];
}

/** The logins in a folder; by default those of all commands. */
export function loginStore(folder: string | undefined): CredentialStore {
  return fileCredentialStore(folder === undefined ? {} : { folder });
}

/** Writes lines for a person, on stderr. */
export async function tell(command: string, ...lines: readonly string[]): Promise<void> {
  for (const line of lines) {
    await print(process.stderr, `${command}: ${printableLines(line.split('\n'))}\n`);
  }
}

/**
 * Prints the faults of a configuration, and the keys without effect.
 *
 * @throws {UsageError} every server to start is faulty
 */
export async function tellFaults(command: string, config: HostsConfig): Promise<void> {
  const { faults, remarks, servers } = config;
  await tell(command, ...[...faults, ...remarks].map(formatConfigProblem));
  const isUsable = [...servers.values()].some(({ kind }) => kind === 'enabled');
  if (faults.length > 0 && !isUsable) throw new UsageError('There is no server to start');
}

/** Names and what they do, in two columns. */
export function columns(
  rows: readonly (readonly [name: string, text: string])[],
  terminalWidth: number | undefined = process.stdout.columns,
): string {
  const width = Math.min(40, Math.max(0, ...rows.map(([name]) => name.length)));
  // The terminal itself would break the line within a word.
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

/** Lines of whole words; a word that is longer than a line has its own. */
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
