/**
 * `mcp-actors login`, `logout` and `logins`: manages the logins shared by all commands of this
 * user.
 */
import { logOut, logins, openConnection } from 'mcp-actors/client';
import type { CredentialStore, Login } from 'mcp-actors/client';
import { exitProcess, printableLines, quoted } from 'mcp-actors/internal';
import { RuntimeError } from 'mcp-actors';
import { UsageError, print } from '../command.ts';
import { interruptible } from '../interruption.ts';
import { duration, optionsText } from '../options/option.ts';
import type { OptionTable } from '../options/option.ts';
import { commandOf, helpOption } from '../options/parse-options.ts';
import {
  clientOptions,
  loginStore,
  personAuth,
  silentReport,
  printMessages,
} from './client-options.ts';
import { ExitCode, exitCodeOf, describeFailure } from './exit-codes.ts';
import { clientOf } from './target.ts';

const store = {
  kind: 'text',
  placeholder: 'DIR',
  help: 'Directory of the logins, readable only by you. Default: the one shared by all commands.',
} as const;

/** Options of `login`, also used to generate the documentation. */
export const loginOptions = {
  device: {
    kind: 'switch',
    help: 'Show a code to enter on another device, for a machine without a browser.',
  },
  scope: {
    kind: 'text',
    placeholder: 'SCOPES',
    help: 'Scopes to request if the server names none, separated by spaces.',
  },
  timeout: {
    ...duration,
    default: 15 * 60_000,
    help: 'Time limit for the login.',
  },
  'client-id': {
    ...clientOptions['client-id'],
    help: 'Id of a client registered with the authorization server, if the server does not support dynamic registration.',
  },
  'client-secret-env': {
    ...clientOptions['client-secret-env'],
    help: "Environment variable with that client's secret.",
  },
  'client-metadata-url': {
    ...clientOptions['client-metadata-url'],
    help: 'URL of the client metadata document, if the authorization server supports it.',
  },
  'callback-port': {
    ...clientOptions['callback-port'],
    help: 'Use the registered redirect URI http://127.0.0.1:PORT/callback. Default: any free port.',
  },
  store,
  help: helpOption,
} as const satisfies OptionTable;

/** Options of `logout`, also used to generate the documentation. */
export const logoutOptions = { store, help: helpOption } as const satisfies OptionTable;

/** Options of `logins`, also used to generate the documentation. */
export const loginsOptions = {
  json: { kind: 'switch', help: 'Print JSON, one object per line and login.' },
  store,
  help: helpOption,
} as const satisfies OptionTable;

const loginHelp = `Usage: mcp-actors login [options] URL

Logs in to the MCP server at URL in a browser, or with --device by entering a code on another
device. The login is stored in files that only you can read and renewed automatically.
mcp-actors call, shell and bridge use it with --login.

  mcp-actors login https://example.com/mcp
  mcp-actors login --device https://example.com/mcp
  mcp-actors logins

Options:
${optionsText(loginOptions)}

Exit status: 0 if logged in, 1 if the server needs no login, 2 for a usage error,
3 if the server cannot be reached, 4 after a timeout, 5 if the login was declined,
has expired or is not supported, 130 after Ctrl-C.
`;

const logoutHelp = `Usage: mcp-actors logout [options] URL

Logs out from the MCP server at URL: revokes the tokens at the authorization server if possible,
and deletes them locally in any case. Running commands keep their access tokens until these
expire.

Options:
${optionsText(logoutOptions)}

Exit status: 0 after logging out, 1 if there was no login, 2 for a usage error.
`;

const loginsHelp = `Usage: mcp-actors logins [options]

Lists your logins to MCP servers with their expiry, scopes and authorization
server. Tokens are not shown.

Options:
${optionsText(loginsOptions)}

Exit status: 0, even without logins; 2 for a usage error.
`;

const name = 'mcp-actors login';

export const login = commandOf(
  name,
  { options: loginOptions, help: loginHelp },
  async ({ values, positionals }) => {
    const url = oneUrl(name, positionals);
    const { timeout: waitMs = 15 * 60_000, device, store: folder, scope } = values;
    const say = (line: string): void => void printMessages(name, line);
    const client = clientOf({ ...values, login: true });
    const store = loginStore(folder);
    const auth = {
      ...personAuth({ device, waitMs, store, say }),
      ...(scope === undefined ? {} : { scope }),
    };
    const interruption = interruptible((code, signal) => void exitProcess(code, process, signal));
    const connection = openConnection(
      { url: url.href, ...(client ? { oauth: client } : {}) },
      { auth, report: silentReport, restart: 'none', signal: interruption.signal },
    );
    try {
      await connection.ready({ signal: interruption.signal });
      return await printOutcome(url, store);
    } catch (error) {
      if (interruption.exitCode !== undefined) return interruption.exitCode;
      const isRefused = error instanceof RuntimeError && error.code === 'UNAUTHORIZED';
      // The login itself succeeded if credentials were stored; the server's failure is a separate
      // problem.
      const code = isRefused ? undefined : await printOutcome(url, store, error);
      if (code === ExitCode.done) return code;
      await printMessages(name, isRefused ? refusalReason(error) : describeFailure(error));
      return exitCodeOf(error);
    } finally {
      await connection.close();
      interruption.stop();
    }
  },
);

/** Innermost reason for a refused login. */
function refusalReason({ cause, message }: RuntimeError): string {
  return cause instanceof RuntimeError ? refusalReason(cause) : message;
}

/**
 * Prints the outcome of a login.
 *
 * @param failure error of the server despite the login
 */
async function printOutcome(url: URL, store: CredentialStore, failure?: unknown): Promise<number> {
  const found = (await logins(store)).find(({ server }) => server === url.href);
  if (found) {
    await print(process.stdout, `You are logged in.\n${textOf(found)}`);
    if (failure)
      await printMessages(
        name,
        `The login succeeded, but the server cannot be used: ${describeFailure(failure)}`,
      );
    return ExitCode.done;
  }
  if (!failure)
    await printMessages(name, `${url.href} requires no login: it answers without a token`);
  return 1;
}

export const logout = commandOf(
  'mcp-actors logout',
  { options: logoutOptions, help: logoutHelp },
  async ({ values, positionals }) => {
    const url = oneUrl('mcp-actors logout', positionals);
    const outcome = await logOut(url, { store: loginStore(values.store) });
    if (outcome.kind === 'none') {
      await printMessages('mcp-actors logout', `No login for ${url.href}`);
      return 1;
    }
    const said =
      outcome.kind === 'revoked'
        ? 'its tokens were revoked'
        : `its tokens were deleted here but stay valid until they expire: ${outcome.reason}`;
    await print(process.stdout, `${printableLines([`Logged out from ${url.href}: ${said}`])}\n`);
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
      await print(process.stdout, 'No logins. Log in with mcp-actors login URL.\n');
    }
    return 0;
  },
);

/** @throws {UsageError} if there is not exactly one http(s) URL */
function oneUrl(command: string, positionals: readonly string[]): URL {
  const [first, ...more] = positionals;
  if (first === undefined || more.length > 0) {
    throw new UsageError(
      `${command} needs the URL of one server, as in ${command} https://example.com/mcp`,
    );
  }
  const url = URL.canParse(first) ? new URL(first) : undefined;
  if (url?.protocol !== 'https:' && url?.protocol !== 'http:') {
    throw new UsageError(`${command}: URL must be an http or https URL, got ${quoted(first)}`);
  }
  url.hash = '';
  return url;
}

/** Formats a login for people. Its contents come from servers, so they are escaped. */
function textOf({ server, issuer, scope, expiresAt, isRenewable }: Login): string {
  const rows = [
    ['valid', validity(expiresAt, isRenewable)],
    ['scopes', scope ?? 'none'],
    ['issuer', issuer],
  ];
  const lines = rows.map(([name = '', text = '']) => `  ${name.padEnd(6)}  ${text}`);
  return `${printableLines([server, ...lines])}\n`;
}

function validity(expiresAt: number | undefined, isRenewable: boolean): string {
  const renewal = isRenewable ? ', renewed automatically' : '';
  if (expiresAt === undefined) return `until the server rejects it${renewal}`;
  const leftMs = expiresAt - Date.now();
  if (leftMs <= 0) return isRenewable ? 'renewed on next use' : 'expired: log in again';
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
