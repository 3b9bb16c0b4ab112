/**
 * Checks which hosts have the server in their files, and whether it starts with that configuration.
 */
import { openConfig, readHosts, formatConfigProblem } from 'mcp-actors/client';
import type { HostsConfig, Servers } from 'mcp-actors/client';
import { inspectValue, isJsonObject, printableName } from 'mcp-actors/internal';
import type { JsonObject } from 'mcp-actors';
import { hideSecretsOf } from '../client/client-options.ts';
import { describeFailure } from '../client/exit-codes.ts';
import { UsageError, print } from '../command.ts';
import type { EntryPath } from './entry-format.ts';
import type { HostFile } from './host-files.ts';
import { namingFile, readHostFile } from './write-entry.ts';

/** Start timeout: npx may have to download the server first. */
const startMs = 60_000;

/** A host's file and the path of the server's entry in it. */
export interface CheckedHost {
  readonly file: HostFile;
  readonly path: EntryPath;
}

/** Result for one host. */
type Finding =
  /** The server is not configured. */
  | { readonly kind: 'absent'; readonly why: string }
  | { readonly kind: 'broken'; readonly why: string }
  | { readonly kind: 'starts'; readonly why: string };

/**
 * Checks the hosts' files, starts the configured servers, and prints a line per host.
 *
 * @returns 0 if at least one host has the server and every configured one starts, else 1
 */
export async function checkEntries(
  hosts: readonly CheckedHost[],
  signal: AbortSignal,
): Promise<number> {
  const read = await Promise.all(hosts.map(readEntry));
  const entries = read.flatMap(({ entry }, at) => (entry ? [[String(at), entry] as const] : []));
  const config = readHosts({ mcpServers: Object.fromEntries(entries) });
  hideSecretsOf(config);
  const servers = openConfig(config, {
    restart: 'none',
    watch: false,
    report: Object.assign(() => {}, { threshold: 'silent' } as const),
    limits: { connectTimeoutMs: startMs },
  });
  try {
    const findings = await Promise.all(
      read.map(async ({ finding }, at) => {
        const server = config.servers.get(String(at));
        return finding ?? (await connectionFinding(servers, String(at), server, signal));
      }),
    );
    const width = Math.max(...hosts.map(({ file }) => file.title.length));
    const rows = findings.map(({ why }, at) => {
      const { title, path } = (hosts[at] as CheckedHost).file;
      return `${title.padEnd(width)}  ${why}\n${' '.repeat(width)}  ${path}\n`;
    });
    await print(process.stdout, rows.join(''));
    const kinds = new Set(findings.map(({ kind }) => kind));
    return kinds.has('starts') && !kinds.has('broken') ? 0 : 1;
  } finally {
    await servers.close();
  }
}

async function readEntry({
  file,
  path,
}: CheckedHost): Promise<{ readonly finding?: Finding; readonly entry?: JsonObject }> {
  try {
    const { bytes, text } = await readHostFile(file.path);
    if (bytes === undefined) return { finding: { kind: 'absent', why: 'no configuration file' } };
    if (text.trim() === '') return { finding: { kind: 'absent', why: 'not configured' } };
    const entry = await namingFile(file.path, () => file.format.read(text, path));
    if (entry === undefined) return { finding: { kind: 'absent', why: 'not configured' } };
    if (!isJsonObject(entry))
      return broken(`its entry must be an object, got ${inspectValue(entry)}`);
    const { enabled, disabled } = entry;
    if (enabled === false || disabled === true) return broken('configured, but disabled');
    return { entry: commonEntry(entry) };
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    return broken(error.message.replace(`${file.path}: `, 'its file cannot be read: '));
  }
}

const broken = (why: string): { readonly finding: Finding } => ({
  finding: { kind: 'broken', why },
});

/** Converts any host's entry to the common form. */
function commonEntry(entry: JsonObject): JsonObject {
  const { command, args, env, environment, cwd, headers, http_headers: tomlHeaders } = entry;
  const url = entry['url'] ?? entry['httpUrl'] ?? entry['serverUrl'];
  const [program, words] = Array.isArray(command)
    ? [command[0] as unknown, command.slice(1)]
    : [command, args];
  const given = Object.entries({
    command: program,
    args: words,
    env: env ?? environment,
    cwd,
    url,
    headers: headers ?? tomlHeaders,
  });
  return Object.fromEntries(given.filter(([, value]) => value !== undefined)) as JsonObject;
}

/** Connects to the server and initializes a session. */
async function connectionFinding(
  servers: Servers,
  name: string,
  server: ReturnType<HostsConfig['servers']['get']>,
  signal: AbortSignal,
): Promise<Finding> {
  if (server?.kind === 'invalid') {
    const faults = server.faults.map(({ key, message }) => formatConfigProblem({ key, message }));
    return { kind: 'broken', why: `its entry is invalid: ${faults.join('; ')}` };
  }
  try {
    const connection = await servers.use(name);
    const { info, revision } = await connection.ready({ signal });
    const is = `${printableName(info.name)} ${printableName(info.version)}`;
    return { kind: 'starts', why: `configured, and it starts: ${is}, revision ${revision}` };
  } catch (error) {
    return { kind: 'broken', why: `configured, but it does not start: ${describeFailure(error)}` };
  }
}
