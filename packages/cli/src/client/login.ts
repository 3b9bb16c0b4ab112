/** `mcp-actors login`, `logout` and `logins`: the logins that all commands of this person share. */
import { logOut, logins, openConnection } from 'mcp-actors/client';
import type { CredentialStore, Login } from 'mcp-actors/client';
import { exitProcess, printableLines, quoted } from 'mcp-actors/internal';
import { RuntimeError } from 'mcp-actors';
import { UsageError, print } from '../command.ts';
import { interruptible } from '../interruption.ts';
import { duration, optionsText } from '../options/option.ts';
import type { OptionTable } from '../options/option.ts';
import { commandOf, helpOption } from '../options/parse-options.ts';
import { clientOptions, loginStore, personAuth, saysItself, tell } from './client-options.ts';
import { ExitCode, exitCodeOf, textOfFailure } from './exit-codes.ts';
import { clientOf } from './target.ts';

const store = {
  kind: 'text',
  placeholder: 'DIR',
  help: 'The folder of the logins, closed to others. By default the one that all commands use.',
} as const;

/** The options of `login`; the documentation has them too. */
export const loginOptions = {
  device: {
    kind: 'switch',
    help: 'For a machine without a browser: show a code to enter on another device.',
  },
  scope: {
    kind: 'text',
    placeholder: 'SCOPES',
    help: 'The scopes to ask for if the server names none, separated by spaces.',
  },
  timeout: {
    ...duration,
    default: 15 * 60_000,
    help: 'How long you may take.',
  },
  'client-id': {
    ...clientOptions['client-id'],
    help: 'The client that is registered at the authorization server, if that registers nobody by itself.',
  },
  'client-secret-env': {
    ...clientOptions['client-secret-env'],
    help: "The environment variable that holds that client's secret.",
  },
  'client-metadata-url': {
    ...clientOptions['client-metadata-url'],
    help: 'The metadata document of the client, if the authorization server knows such.',
  },
  'callback-port': {
    ...clientOptions['callback-port'],
    help: 'Come back to http://127.0.0.1:PORT/callback, as it is registered. By default a free port is taken.',
  },
  store,
  help: helpOption,
} as const satisfies OptionTable;

/** The options of `logout`; the documentation has them too. */
export const logoutOptions = { store, help: helpOption } as const satisfies OptionTable;

/** The options of `logins`; the documentation has them too. */
export const loginsOptions = {
  json: { kind: 'switch', help: 'Print JSON, an object in a line for each login.' },
  store,
  help: helpOption,
} as const satisfies OptionTable;

const loginHelp = `Usage: mcp-actors login [options] URL

Logs you in at the MCP server at URL, in the browser. With --device you enter a code on another
device instead. The login is kept in files that only you can read, and is renewed by itself:
mcp-actors call, shell and bridge use it with --login, and any number of them share it.

  mcp-actors login https://example.com/mcp
  mcp-actors login --device https://example.com/mcp
  mcp-actors logins

Options:
${optionsText(loginOptions)}

Exit status: 0 if there is a login, 1 if the server needs none, 2 if the command was called
wrongly, 3 if the server cannot be reached, 4 after a timeout, 5 if there is no login: it was
declined, has expired or is not possible there; 130 after Ctrl-C.
`;

const logoutHelp = `Usage: mcp-actors logout [options] URL

Ends your login at the MCP server at URL: its authorization server is told that the tokens are
void, if it can be, and they are forgotten here in any case. Commands that run keep theirs until
it expires.

Options:
${optionsText(logoutOptions)}

Exit status: 0 if the login is ended, 1 if there is none, 2 if the command was called wrongly.
`;

const loginsHelp = `Usage: mcp-actors logins [options]

Lists your logins at MCP servers: until when each is valid, for which scopes, and at which
authorization server. No token is shown.

Options:
${optionsText(loginsOptions)}

Exit status: 0, also if there are none; 2 if the command was called wrongly.
`;

const name = 'mcp-actors login';

export const login = commandOf(
  name,
  { options: loginOptions, help: loginHelp },
  async ({ values, positionals }) => {
    const url = oneUrl(name, positionals);
    const { timeout: waitMs = 15 * 60_000, device, store: folder, scope } = values;
    const say = (line: string): void => void tell(name, line);
    const client = clientOf({ ...values, login: true });
    const store = loginStore(folder);
    const auth = {
      ...personAuth({ device, waitMs, store, say }),
      ...(scope === undefined ? {} : { scope }),
    };
    const interruption = interruptible((code, signal) => void exitProcess(code, process, signal));
    const connection = openConnection(
      { url: url.href, ...(client ? { oauth: client } : {}) },
      { auth, report: saysItself, restart: 'none', signal: interruption.signal },
    );
    try {
      await connection.ready({ signal: interruption.signal });
      return await whatCame(url, store);
    } catch (error) {
      if (interruption.exitCode !== undefined) return interruption.exitCode;
      const isRefused = error instanceof RuntimeError && error.code === 'UNAUTHORIZED';
      // The person has done their part: what is wrong with the server is another matter.
      const code = isRefused ? undefined : await whatCame(url, store, error);
      if (code === ExitCode.done) return code;
      await tell(name, isRefused ? whyRefused(error) : textOfFailure(error));
      return exitCodeOf(error);
    } finally {
      await connection.close();
      interruption.stop();
    }
  },
);

/** Why there is no login, without the requests that have met that. */
function whyRefused({ cause, message }: RuntimeError): string {
  return cause instanceof RuntimeError ? whyRefused(cause) : message;
}

/** Says what came of a login. @param failure why the server cannot be used all the same */
async function whatCame(url: URL, store: CredentialStore, failure?: unknown): Promise<number> {
  const found = (await logins(store)).find(({ server }) => server === url.href);
  if (found) {
    await print(process.stdout, `You are logged in.\n${textOf(found)}`);
    if (failure) await tell(name, `But the server cannot be used: ${textOfFailure(failure)}`);
    return ExitCode.done;
  }
  if (!failure) await tell(name, `${url.href} needs no login: it answers without a token`);
  return 1;
}

export const logout = commandOf(
  'mcp-actors logout',
  { options: logoutOptions, help: logoutHelp },
  async ({ values, positionals }) => {
    const url = oneUrl('mcp-actors logout', positionals);
    const outcome = await logOut(url, { store: loginStore(values.store) });
    if (outcome.kind === 'none') {
      await tell('mcp-actors logout', `There is no login at ${url.href}`);
      return 1;
    }
    const said =
      outcome.kind === 'revoked'
        ? 'its tokens are void'
        : `its tokens are forgotten here, and valid until they expire: ${outcome.reason}`;
    await print(process.stdout, `${printableLines([`Logged out at ${url.href}: ${said}`])}\n`);
    return 0;
  },
);

export const list = commandOf(
  'mcp-actors logins',
  { options: loginsOptions, help: loginsHelp },
  async ({ values, positionals }) => {
    if (positionals.length > 0) throw new UsageError('mcp-actors logins takes no arguments');
    const found = await logins(loginStore(values.store));
    for (const each of found) {
      await print(process.stdout, values.json ? `${JSON.stringify(each)}\n` : textOf(each));
    }
    if (found.length === 0 && !values.json) {
      await print(process.stdout, 'There are no logins. mcp-actors login URL makes one.\n');
    }
    return 0;
  },
);

/** @throws {UsageError} there is not one URL that a login can be for */
function oneUrl(command: string, positionals: readonly string[]): URL {
  const [first, ...more] = positionals;
  if (first === undefined || more.length > 0) {
    throw new UsageError(
      `${command} takes the URL of one server, as in ${command} https://example.com/mcp`,
    );
  }
  const url = URL.canParse(first) ? new URL(first) : undefined;
  if (url?.protocol !== 'https:' && url?.protocol !== 'http:') {
    throw new UsageError(`${command}: ${quoted(first)} is no URL of http or https`);
  }
  url.hash = '';
  return url;
}

/** A login in a few lines. What is in it was named by servers. */
function textOf({ server, issuer, scope, expiresAt, isRenewable }: Login): string {
  const rows = [
    ['valid', validity(expiresAt, isRenewable)],
    ['scopes', scope ?? 'none were named'],
    ['issuer', issuer],
  ];
  const lines = rows.map(([name = '', text = '']) => `  ${name.padEnd(6)}  ${text}`);
  return `${printableLines([server, ...lines])}\n`;
}

function validity(expiresAt: number | undefined, isRenewable: boolean): string {
  const renewal = isRenewable ? ', renewed by itself' : '';
  if (expiresAt === undefined) return `until it is refused${renewal}`;
  const leftMs = expiresAt - Date.now();
  if (leftMs <= 0) return isRenewable ? 'renewed when it is next used' : 'no longer: log in again';
  const [day, time] = new Date(expiresAt - new Date(expiresAt).getTimezoneOffset() * 60_000)
    .toISOString()
    .split(/[T.]/);
  return `until ${day} ${time}, ${spanOf(leftMs)} from now${renewal}`;
}

function spanOf(ms: number): string {
  const minutes = Math.round(ms / 60_000);
  if (minutes < 1) return `${Math.round(ms / 1000)} s`;
  if (minutes < 120) return `${minutes} min`;
  return minutes < 2 * 24 * 60
    ? `${Math.round(minutes / 60)} h`
    : `${Math.round(minutes / 1440)} days`;
}
