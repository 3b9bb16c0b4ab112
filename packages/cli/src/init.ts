/** `mcp-actors init`: creates a small server with tests from `templates/server`. */
import {
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  realpathSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { UsageError, packageVersion, print } from './command.ts';
import { workingDirectory } from './directories.ts';
import { hostConfiguration, quotedForShell, reservedName } from './host-configuration.ts';
import { optionsText } from './options/option.ts';
import type { OptionTable } from './options/option.ts';
import { commandOf, helpOption } from './options/parse-options.ts';

export const initOptions = {
  package: {
    kind: 'text',
    placeholder: 'SPEC',
    help: 'Source of the mcp-actors dependency: a version, a URL, or a tarball such as ./mcp-actors-0.1.0.tgz. Default: this version from the registry.',
  },
  help: helpOption,
} as const satisfies OptionTable;

const help = `Usage: mcp-actors init [options] DIRECTORY

Creates a small MCP server in TypeScript in a new or empty directory: a tool and a prompt
with schemas and tests. The server is named after the directory. Prints the next
steps and the host configuration. Installs nothing.

Options:
${optionsText(initOptions)}

Examples:
  mcp-actors init my-server
  mcp-actors init .
`;

export const command = commandOf(
  'mcp-actors init',
  { options: initOptions, help },
  async ({ values, positionals }) => {
    const cwd = workingDirectory();
    const directory = resolve(cwd, directoryIn(positionals));
    const dependency = values.package ?? `^${packageVersion()}`;
    const file = fileIn(dependency, cwd);
    checkEmpty(directory);
    const { name, files } = serverFiles(
      basename(directory),
      file === undefined ? dependency : `file:${pathBetween(directory, file)}`,
    );
    for (const { path, text } of files) write(join(directory, path), text);
    const launch = { name, command: 'node', args: [join(directory, 'dist', 'main.js')] };
    const written = files.map(({ path }) => `  ${path}\n`).join('');
    const enter = directory === cwd ? '' : `  cd ${quotedForShell(relative(cwd, directory))}\n`;
    await print(
      process.stdout,
      `Wrote the server ${name} into ${directory}:

${written}
After installation, hosts launch it with this configuration.

${hostConfiguration(launch)}
Next:

${enter}  npm install
  npm test
${values.package === undefined ? registryHint : ''}`,
    );
    return 0;
  },
);

const registryHint = `
npm installs mcp-actors from the registry; mcp-actors init --package FILE uses a local tarball.
`;

/** @throws {UsageError} if there is not exactly one directory */
function directoryIn([directory, ...others]: readonly string[]): string {
  if (directory === undefined || directory === '') {
    throw new UsageError('init needs a directory, as in mcp-actors init my-server');
  }
  if (others.length === 0) return directory;
  throw new UsageError(
    `init must have one directory, got ${others.length + 1}: ${[directory, ...others].join(', ')}`,
  );
}

/**
 * File named by a dependency; undefined if it names no file.
 *
 * @throws {UsageError} if the file does not exist
 */
function fileIn(spec: string, cwd: string): string | undefined {
  const isFile =
    isAbsolute(spec) || /^(\.|file:)/.test(spec) || /^[^:]*\.(tgz|tar\.gz)$/.test(spec);
  if (!isFile) return undefined;
  const path = resolve(cwd, spec.replace(/^file:/, ''));
  if (existsSync(path)) return path;
  throw new UsageError(`--package ${spec} does not exist (looked for ${path})`);
}

/** Relative path as npm resolves it from the manifest, with links resolved. */
function pathBetween(directory: string, file: string): string {
  return relative(realpathSync(directory), realpathSync(file)).replaceAll(sep, '/');
}

/** Entries allowed in an "empty" directory: a new repository. */
const ignored = new Set(['.git']);

/** @throws {UsageError} if the directory is not empty or unreadable */
function checkEmpty(directory: string): void {
  const there = attempt(directory, () => {
    mkdirSync(directory, { recursive: true });
    return readdirSync(directory).filter((name) => !ignored.has(name));
  });
  if (there.length === 0) return;
  const more = there.length > 3 ? ` and ${there.length - 3} more` : '';
  throw new UsageError(
    `${directory} must be new or empty, but contains ${there.slice(0, 3).join(', ')}${more}`,
  );
}

/** Writes a new file; never overwrites one. */
function write(path: string, text: string): void {
  attempt(path, () => {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text, { flag: 'wx' });
  });
}

/** @throws {UsageError} for errors of the file system */
function attempt<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const reason =
      code === 'EEXIST' || code === 'ENOTDIR' ? 'a file with this name exists' : message;
    throw new UsageError(`${path} cannot be written: ${reason}`, { cause: error });
  }
}

/** Server name in the template. */
const placeholder = 'my-server';

interface ServerFiles {
  readonly name: string;
  /** Files sorted by path. */
  readonly files: readonly { readonly path: string; readonly text: string }[];
}

function serverFiles(directoryName: string, dependency: string): ServerFiles {
  // Self-reference works from sources and bundle.
  const manifest = createRequire(import.meta.url).resolve('@mcp-actors/cli/package.json');
  const template = join(dirname(manifest), 'templates', 'server');
  const paths = readdirSync(template, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(template, join(entry.parentPath, entry.name)))
    .toSorted();
  const read = (path: string) => readFileSync(join(template, path), 'utf8');
  const { dependencies, devDependencies } = JSON.parse(read('package.json')) as Manifest;
  const name = nameOf(directoryName, [...Object.keys({ ...dependencies, ...devDependencies })]);
  const files = paths.map((path) => {
    const text = read(path).replaceAll(placeholder, name);
    // npm pack excludes .gitignore files.
    if (path === 'gitignore') return { path: '.gitignore', text };
    return { path, text: path === 'package.json' ? withDependency(text, dependency) : text };
  });
  return { name, files };
}

interface Manifest {
  readonly dependencies: { readonly [name: string]: string };
  readonly devDependencies: { readonly [name: string]: string };
}

function withDependency(manifest: string, dependency: string): string {
  return manifest.replace(/("mcp-actors": )".*"/, (_, key) => key + JSON.stringify(dependency));
}

/** Name for the package, the server and its entry in a host's configuration. */
function nameOf(directoryName: string, dependencies: readonly string[]): string {
  const words = directoryName
    .normalize('NFKD')
    .replaceAll(/\p{Mark}/gu, '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, 60)
    .replaceAll(/^-+|-+$/g, '');
  if (words === '') return placeholder;
  // npm cannot install a package into one of the same name.
  return [reservedName, ...dependencies].includes(words) ? `${words}-server` : words;
}
