/**
 * Amount of text a model reads: `npm run lab -- sizes`. Runs the workspace server and the reference
 * filesystem server over stdio with the official client, on the sources of a pinned dependency, so
 * that figures only depend on the length of a temporary path. `--write` updates the tables in
 * packages/workspace-server/README.md.
 *
 * The reference server is fetched on demand and is not a dependency.
 */
import { cp, mkdtemp, readFile, readdir, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';

const reference = '@modelcontextprotocol/server-filesystem@2026.8.31';
const page = new URL('../packages/workspace-server/README.md', import.meta.url);
const repository = fileURLToPath(new URL('..', import.meta.url));

interface Size {
  readonly calls: number;
  /** Characters of all text in `content`. */
  readonly text: number;
  /** Characters of `structuredContent` as JSON, which some hosts show instead. */
  readonly structured: number;
  /** Characters of the responses on the wire. */
  readonly wire: number;
}

const none: Size = { calls: 0, text: 0, structured: 0, wire: 0 };

function sum(a: Size, b: Size): Size {
  return {
    calls: a.calls + b.calls,
    text: a.text + b.text,
    structured: a.structured + b.structured,
    wire: a.wire + b.wire,
  };
}

/** A server, and the size of its results since the last reset. */
class Measured {
  readonly #client = new Client({ name: 'result-sizes', version: '1' });
  #size = none;
  #wire = 0;

  static async start(command: string, args: readonly string[]): Promise<Measured> {
    const measured = new Measured();
    const transport = new StdioClientTransport({ command, args: [...args], stderr: 'ignore' });
    await measured.#client.connect(transport);
    const receive = transport.onmessage;
    transport.onmessage = (message) => {
      measured.#wire = JSON.stringify(message).length + 1;
      receive?.(message);
    };
    return measured;
  }

  /**
   * Returns the text of a result. Errors end the script, because they would count as short results.
   */
  async call(name: string, args: { readonly [argument: string]: unknown }): Promise<string> {
    const result = (await this.#client.callTool({ name, arguments: args })) as CallToolResult;
    const text = result.content.map((block) => (block.type === 'text' ? block.text : '')).join('');
    if (result.isError === true) throw new Error(`${name} ${JSON.stringify(args)}: ${text}`);
    const structured = JSON.stringify(result.structuredContent)?.length ?? 0;
    this.#size = sum(this.#size, { calls: 1, text: text.length, structured, wire: this.#wire });
    return text;
  }

  /** Follows the cursors in the text. */
  async pages(name: string, args: { readonly [argument: string]: unknown }): Promise<void> {
    let text = await this.call(name, args);
    for (;;) {
      const cursor = /\bcursor:? "?([\w-]{8,})/.exec(text)?.[1];
      if (cursor === undefined) return;
      text = await this.call(name, { ...args, cursor });
    }
  }

  take(): Size {
    const size = this.#size;
    this.#size = none;
    return size;
  }

  async close(): Promise<void> {
    await this.#client.close();
  }
}

interface Task {
  readonly what: string;
  readonly ours: (server: Measured) => Promise<unknown>;
  readonly theirs: (server: Measured, base: string) => Promise<unknown>;
}

const below = (base: string, paths: readonly string[]) => paths.map((path) => join(base, path));
const threeFiles = ['src/v4/core/core.ts', 'src/v4/core/parse.ts', 'src/v4/core/registries.ts'];
const overview = ['package.json', 'README.md', 'src/v4/core/index.ts'];
const notTests = ['!**/tests/**', '!**/locales/**'];

/** Without a text search, every candidate file must be read. */
async function readAll(server: Measured, base: string, directory: string): Promise<void> {
  const names = await readdir(join(base, directory), { recursive: true });
  const isMeant = (name: string) => name.endsWith('.ts') && !/(^|\/)(tests|locales)\//.test(name);
  await server.call('search_files', {
    path: join(base, directory),
    pattern: '**/*.ts',
    excludePatterns: ['**/tests/**', '**/locales/**'],
  });
  const paths = names.filter(isMeant).map((name) => join(base, directory, name));
  await server.call('read_multiple_files', { paths });
}

const tasks: readonly Task[] = [
  {
    what: 'find where `prettifyError` is written, and read it',
    ours: async (server) => {
      const pattern = 'function prettifyError';
      const text = await server.call('search_text', { pattern, globs: ['src/v4/core/**'] });
      const line = Number(/^(\d+): export function prettifyError/m.exec(text)?.[1]);
      await server.call('read_file', { path: `src/v4/core/errors.ts:${line}-${line + 30}` });
    },
    theirs: async (server, base) => await readAll(server, base, 'src/v4/core'),
  },
  {
    what: 'summarize a package: its files, its manifest, its README and its index',
    ours: async (server) => {
      await server.call('list_directory', { path: 'src/v4/core', depth: 1 });
      await server.call('read_file', { paths: overview });
    },
    theirs: async (server, base) => {
      await server.call('list_directory_with_sizes', { path: join(base, 'src/v4/core') });
      await server.call('read_multiple_files', { paths: below(base, overview) });
    },
  },
  {
    what: 'read three files',
    ours: async (server) => await server.call('read_file', { paths: threeFiles }),
    theirs: async (server, base) =>
      await server.call('read_multiple_files', { paths: below(base, threeFiles) }),
  },
  {
    what: 'find all uses of `ZodError`, besides tests',
    ours: async (server) =>
      await server.pages('search_text', {
        pattern: 'ZodError',
        globs: ['src/v4/**', ...notTests],
      }),
    theirs: async (server, base) => await readAll(server, base, 'src/v4'),
  },
  {
    what: 'what changed lately',
    ours: async () => await Promise.resolve(),
    theirs: async (server, base) => {
      const path = join(base, 'src/v4/core');
      const found = await server.call('search_files', { path, pattern: '*.ts' });
      for (const file of found.split('\n')) await server.call('get_file_info', { path: file });
    },
  },
];

const ownCalls: readonly (readonly [string, { readonly [argument: string]: unknown }])[] = [
  ['workspace_info', {}],
  ['list_directory', {}],
  ['find_files', {}],
  ['search_text', { pattern: 'ZodError' }],
  ['search_text', { pattern: 'ZodError', contextLines: 3 }],
  ['read_file', { path: 'src/v4/core/schemas.ts' }],
  ['read_file', { path: 'src/v4/core/schemas.ts', lineNumbers: true }],
  ['read_file', { paths: threeFiles }],
];

const number = (value: number): string => value.toLocaleString('en');

async function ownTable(server: Measured): Promise<string> {
  const rows: string[] = [];
  for (const [name, args] of ownCalls) {
    await server.call(name, args);
    const { text, structured, wire } = server.take();
    const given = Object.keys(args).length === 0 ? '' : ` \`${JSON.stringify(args)}\``;
    rows.push(
      `| \`${name}\`${given} | ${number(text)} | ${number(structured)} | ${number(wire)} |`,
    );
  }
  return `| call | text | structured | on the wire |\n|---|--:|--:|--:|\n${rows.join('\n')}`;
}

async function comparisonTable(ours: Measured, theirs: Measured, base: string): Promise<string> {
  const cells = ({ calls, text, wire }: Size) =>
    calls === 0 ? '— | — | —' : `${number(calls)} | ${number(text)} | ${number(wire)}`;
  const rows: string[] = [];
  for (const task of tasks) {
    await task.ours(ours);
    await task.theirs(theirs, base);
    rows.push(`| ${task.what} | ${cells(ours.take())} | ${cells(theirs.take())} |`);
  }
  return `| task | calls | text | on the wire | reference: calls | text | on the wire |\n|---|--:|--:|--:|--:|--:|--:|\n${rows.join('\n')}`;
}

/** Creates a project from the sources of a dependency. */
async function makeProject(): Promise<string> {
  const base = await realpath(await mkdtemp(join(tmpdir(), 'mcp-actors-sizes-')));
  for (const name of ['package.json', 'README.md', 'src']) {
    await cp(join(repository, 'node_modules/zod', name), join(base, name), { recursive: true });
  }
  return base;
}

async function write(tables: { readonly [name: string]: string }): Promise<void> {
  let text = await readFile(page, 'utf8');
  for (const [name, table] of Object.entries(tables)) {
    const mark = new RegExp(`(<!-- measured: ${name} -->)[^]*?(<!-- end -->)`);
    if (!mark.test(text))
      throw new Error(`packages/workspace-server/README.md has no place for ${name}`);
    text = text.replace(mark, (_, start: string, end: string) => `${start}\n\n${table}\n\n${end}`);
  }
  await writeFile(page, text);
}

const base = await makeProject();
try {
  const ours = await Measured.start(process.execPath, [
    join(repository, 'packages/cli/dist/cli.js'),
    'workspace',
    base,
  ]);
  const theirs = await Measured.start('npx', ['--yes', reference, base]);
  try {
    const tables = {
      sizes: await ownTable(ours),
      comparison: await comparisonTable(ours, theirs, base),
    };
    console.log(Object.values(tables).join('\n\n'));
    if (process.argv.includes('--write')) await write(tables);
  } finally {
    await Promise.all([ours.close(), theirs.close()]);
  }
} finally {
  await rm(base, { recursive: true });
}
