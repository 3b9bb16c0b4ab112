/**
 * Reads an `mcpServers` file, which lists a host's servers. Comments and trailing commas are
 * allowed.
 */
import { watch } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import type { Clock } from '../../../../src/actors/clock.ts';
import { readFile, stat } from 'node:fs/promises';
import { findNodeAtLocation, getNodeValue, parseTree, printParseErrorCode } from 'jsonc-parser';
import type { Node, ParseError } from 'jsonc-parser';
import { isJsonObject } from '../../../../src/protocol/classify.ts';
import type { JsonObject } from '../../../../src/protocol/frames.ts';
import { closestMatch } from '../../../../src/protocol/suggestions.ts';
import { configInvalid, shownEntry } from './config-problem.ts';
import type { ConfigProblem } from './config-problem.ts';
import { readServer } from './server-entry.ts';
import type { HostedServer } from './server-entry.ts';
import type { EnvironmentVariables } from './variables.ts';

/** Keys that contain the servers; VS Code uses the second one. */
const serverKeys = ['mcpServers', 'servers'] as const;

/** A longer file cannot be a configuration. */
const maxBytes = 4 * 1024 ** 2;
const maxServers = 1000;
const maxSyntaxErrors = 10;

/** A parsed server configuration. */
export interface HostsConfig {
  /** Path of the file; undefined if given as an object. */
  readonly file: string | undefined;
  /** Servers by name, in file order. */
  readonly servers: ReadonlyMap<string, HostedServer>;
  /** Faults of invalid servers. The other servers can be started. */
  readonly faults: readonly ConfigProblem[];
  /** Keys without effect, possibly misspelled. */
  readonly remarks: readonly ConfigProblem[];
}

/** Options for reading a server configuration. */
export interface ReadHostsOptions {
  /** File name for faults. */
  readonly file?: string | undefined;
  /** Source of variables. Default: the process's environment. */
  readonly environment?: EnvironmentVariables;
}

/**
 * Reads a configuration file.
 *
 * @throws {RuntimeError} CONFIG_INVALID: the file cannot be read or parsed, or contains no servers
 */
export async function readHostsFile(
  file: string,
  options: Omit<ReadHostsOptions, 'file'> = {},
): Promise<HostsConfig> {
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    throw configInvalid([{ file, message: unreadable(error) }], error);
  }
  return readHostsText(text, { ...options, file });
}

/**
 * Reads the file again. Opening a FIFO would block until a writer opens it, and delay every later
 * read.
 *
 * @throws {RuntimeError} CONFIG_INVALID: as {@link readHostsFile}, or it is not a regular file
 * @throws {Error} the file is missing
 */
export async function rereadHostsFile(
  file: string,
  options?: Omit<ReadHostsOptions, 'file'>,
): Promise<HostsConfig> {
  if (!(await stat(file)).isFile())
    throw configInvalid([{ file, message: 'it is not a regular file' }]);
  return readHostsFile(file, options);
}

function unreadable(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === 'ENOENT') return 'file not found';
  if (code === 'EISDIR') return 'it is a directory, not a file';
  return `it cannot be read: ${message}`;
}

/**
 * Parses a file's text.
 *
 * @throws {RuntimeError} CONFIG_INVALID: the text is not JSON with comments, or contains no servers
 */
export function readHostsText(text: string, options: ReadHostsOptions = {}): HostsConfig {
  const { file } = options;
  if (text.length > maxBytes) {
    throw configInvalid([{ file, message: `it is longer than ${maxBytes} characters` }]);
  }
  const source = text.replace(/^\uFEFF/, '');
  if (source.trim() === '') throw configInvalid([{ file, message: 'it is empty' }]);
  const errors: ParseError[] = [];
  const root = parseTree(source, errors, { allowTrailingComma: true });
  if (root === undefined || errors.length > 0) {
    const found = errors.slice(0, maxSyntaxErrors);
    throw configInvalid(found.map((error) => ({ file, message: syntaxFault(source, error) })));
  }
  const config = readHosts(getNodeValue(root), options);
  const placed = <T extends ConfigProblem>(fault: T): T => ({
    ...fault,
    line: lineOf(source, root, fault),
  });
  const servers = new Map(
    [...config.servers].map(([name, server]) => [
      name,
      server.kind === 'invalid' ? { ...server, faults: server.faults.map(placed) } : server,
    ]),
  );
  const twice = repeatedServers(root).map((server) => ({
    file,
    server,
    message: 'the name stands in the file twice, and only one of them counts: remove or rename one',
  }));
  return {
    ...config,
    servers,
    faults: config.faults.map(placed),
    remarks: [...twice, ...config.remarks].map(placed),
  };
}

/** Line of a fault's key, or of its server if the key is missing. */
function lineOf(
  source: string,
  root: Node,
  { server = '', key }: ConfigProblem,
): number | undefined {
  const steps = (key ?? '').match(/[^.[\]]+/g) ?? [];
  const paths = steps.map((_, at) => steps.slice(0, steps.length - at));
  for (const path of [...paths, []]) {
    for (const servers of serverKeys) {
      const where = [servers, server, ...path].map((step, at) =>
        at > 1 && /^\d+$/.test(step) ? Number(step) : step,
      );
      const node = findNodeAtLocation(root, where);
      if (node) return source.slice(0, node.offset).split('\n').length;
    }
  }
  return undefined;
}

/** Formats a syntax error as `line 3, column 7: comma expected`. */
function syntaxFault(source: string, { error, offset }: ParseError): string {
  const before = source.slice(0, offset).split('\n');
  const column = (before.at(-1)?.length ?? 0) + 1;
  const words = printParseErrorCode(error).replaceAll(/(?<=[a-z])[A-Z]/g, (letter) => ` ${letter}`);
  return `line ${before.length}, column ${column}: ${words.toLowerCase()}`;
}

function repeatedServers(root: Node): readonly string[] {
  const members = (node: Node | undefined) =>
    (node?.children ?? []).map(({ children = [] }) => children);
  const names = members(root)
    .filter(([key]) => serverKeys.some((each) => each === key?.value))
    .flatMap(([, servers]) => members(servers).map(([name]) => String(name?.value)));
  return [...new Set(names.filter((name, at) => names.indexOf(name) !== at))];
}

/**
 * Parses a configuration object with the content of a file.
 *
 * @throws {RuntimeError} CONFIG_INVALID: the object contains no servers
 */
export function readHosts(
  written: unknown,
  { file, environment = process.env }: ReadHostsOptions = {},
): HostsConfig {
  const entries = entriesIn(written, file);
  const servers = new Map<string, HostedServer>();
  const remarks: ConfigProblem[] = [];
  for (const [name, entry] of entries) {
    const read = readServer(entry, { file, server: name }, environment);
    servers.set(name, name === '' ? unnamed(file) : read.server);
    remarks.push(...read.remarks);
  }
  const faults = [...servers.values()].flatMap((each) =>
    each.kind === 'invalid' ? each.faults : [],
  );
  return { file, servers, faults, remarks };
}

function unnamed(file: string | undefined): HostedServer {
  return { kind: 'invalid', faults: [{ file, server: '', message: 'the name is empty' }] };
}

function entriesIn(written: unknown, file: string | undefined): (readonly [string, unknown])[] {
  const refuse = (message: string, key?: string): never => {
    throw configInvalid([{ file, key, message }]);
  };
  const wanted = 'an object with the servers under "mcpServers" or "servers"';
  if (!isJsonObject(written)) return refuse(`${shownEntry('', written)} is not ${wanted}`);
  const given = serverKeys.filter((key) => Object.hasOwn(written, key));
  if (given.length === 0) {
    const keys = Object.keys(written);
    // Only objects can contain servers, so a text such as the version in a package.json is not
    // suggested.
    const near = keys.find(
      (key) => isJsonObject(written[key]) && closestMatch(key, serverKeys) !== undefined,
    );
    const meant = near === undefined ? '' : `; is ${JSON.stringify(near)} meant as that?`;
    return refuse(`it is not ${wanted}${meant}`);
  }
  const entries = given.flatMap((key) => {
    const servers: unknown = written[key];
    if (isJsonObject(servers)) return Object.entries(servers as JsonObject);
    return refuse(`${shownEntry(key, servers)} is not an object of servers by name`, key);
  });
  if (entries.length > maxServers) refuse(`it has more than ${maxServers} servers`);
  return entries;
}

/** Debounce before reading a changed file, ms: editors write in several steps. */
const quietMs = 100;

export interface WatchOptions {
  readonly clock: Clock;
  /** Called when the file may have changed. */
  changed(): void;
  /** Called when watching failed and stopped. */
  failed(error: Error): void;
}

/**
 * Watches the file's folder, because many editors replace the file. Does not keep the process
 * alive.
 *
 * @returns a function that stops watching
 */
export function watchFile(file: string, { clock, changed, failed }: WatchOptions): () => void {
  const path = resolve(file);
  let timer: unknown;
  try {
    const watcher = watch(dirname(path), { persistent: false }, (_event, name) => {
      // Some systems do not name the changed file.
      if (name !== null && name !== basename(path)) return;
      clock.clearTimeout(timer);
      timer = clock.setTimeout(changed, quietMs);
    });
    watcher.on('error', failed);
    return () => {
      clock.clearTimeout(timer);
      watcher.close();
    };
  } catch (error) {
    failed(error as Error);
    return () => {};
  }
}
