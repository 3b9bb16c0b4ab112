/**
 * The published package: packed, installed in an empty folder with its peers, compiled against, and
 * run.
 */
import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestContext } from 'vitest';
import { connect } from 'mcp-actors/client';
import { outOfReach } from '../../scripts/npm.ts';
import { pruneDeclarations } from '../../scripts/prune-declarations.mjs';
import { charts } from '../../src/charts.ts';
import { entries } from '../tooling/entries.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
/** One checker, because each additional one checks most of the library again. */
const tsc = [join(root, 'node_modules', 'typescript', 'bin', 'tsc'), '--checkers', '1'];
const tsx = join(root, 'node_modules', 'tsx', 'dist', 'cli.mjs');
/** Packages published beside the library, each with the sources of its declarations. */
const besides = [
  { name: 'inspector', sources: ['index.ts', 'diagrams.ts', 'page-assets.d.ts'], most: 150_000 },
  { name: 'openapi', sources: ['index.ts'], most: 50_000 },
] as const;
const folderOf = (name: string) => join(root, 'packages', name);
const typeRoots = join(root, 'node_modules', '@types');
const run = promisify(execFile);
const json = async <T>(path: string): Promise<T> => JSON.parse(await readFile(path, 'utf8')) as T;

interface Manifest {
  readonly scripts: { readonly [event: string]: string };
  readonly files: readonly string[];
  readonly peerDependencies: { readonly [name: string]: string };
  readonly devDependencies: { readonly [name: string]: string };
}

interface Packed {
  readonly filename: string;
  /** Sizes in bytes. */
  readonly size: number;
  readonly unpackedSize: number;
  readonly files: readonly { readonly path: string }[];
}

describe('the published package', { timeout: 600_000 }, () => {
  let folder: string;
  let app: string;
  let manifest: Manifest;
  let packed: Packed;
  let command: Packed;
  let packedBeside: readonly Packed[];
  /** Reason why the installation is impossible, if not the package's fault. */
  let unreachable: string | undefined;

  const npm = (args: readonly string[], cwd: string) =>
    run('npm', [...args, '--no-audit', '--no-fund'], {
      cwd,
      // For systems where npm is a batch file.
      shell: process.platform === 'win32',
    });

  /** npm applies `files` of the manifest. */
  const isIncluded = (path: string) => !path.startsWith('!');

  /**
   * The contents of the published package, without declarations. Staged, so that the repository's
   * own `dist/` is only read: other tests run from it.
   */
  async function stageOf(from: string, stage: string): Promise<void> {
    const { files } = await json<Manifest>(join(from, 'package.json'));
    await mkdir(stage);
    for (const path of ['package.json', 'README.md', 'LICENSE', ...files.filter(isIncluded)]) {
      const isStale = (each: string) => each.startsWith(join(from, 'dist', 'types'));
      await cp(join(from, path), join(stage, path), {
        recursive: true,
        filter: (each) => !isStale(each),
      });
    }
  }

  /** Without type checking, which `npm run types` does with the same project. */
  const declare = async (project: string, stage: string): Promise<void> => {
    const outDir = join(stage, 'dist', 'types');
    await run(process.execPath, [...tsc, '--noCheck', '-p', project, '--outDir', outDir]);
    pruneDeclarations(stage);
  };

  /** Packs these folders with a single npm process. */
  async function packedIn(...stages: readonly string[]): Promise<readonly Packed[]> {
    const args = ['pack', '--json', '--ignore-scripts', '--pack-destination', folder];
    const { stdout } = await npm([...args, ...stages], root);
    return JSON.parse(stdout) as readonly Packed[];
  }

  /** A package's declarations derive from those of the packed library. */
  async function declareBeside(
    { name, sources }: (typeof besides)[number],
    stage: string,
    library: string,
  ): Promise<void> {
    const project = join(folder, `tsconfig.${name}.json`);
    const types = (entry: string) => [join(library, 'dist', 'types', entry)];
    const paths = {
      'mcp-actors': types('index.d.ts'),
      'mcp-actors/client': types('client/index.d.ts'),
      'mcp-actors/internal': types('internal.d.ts'),
    };
    const include = sources.map((source) => join(folderOf(name), 'src', source));
    const compilerOptions = {
      paths,
      rootDir: join(folderOf(name), 'src'),
      typeRoots: [typeRoots],
    };
    const config = {
      extends: join(folderOf(name), 'tsconfig.build.json'),
      compilerOptions,
      include,
    };
    await writeFile(project, JSON.stringify(config));
    await declare(project, stage);
  }

  async function install({ peerDependencies, devDependencies }: Manifest): Promise<void> {
    app = join(folder, 'app');
    await mkdir(app);
    await writeFile(join(app, 'package.json'), '{"private":true,"type":"module"}');
    // Versions already in npm's cache.
    const beside = [...Object.keys(peerDependencies), '@types/node'];
    const wanted = beside.map((name) => `${name}@${devDependencies[name]}`);
    const tarballs = [packed, command, ...packedBeside].map(({ filename }) =>
      join(folder, filename),
    );
    try {
      await npm(['install', '--prefer-offline', ...tarballs, ...wanted], app);
    } catch (error) {
      if (!outOfReach.test(String(error))) throw error;
      unreachable = String(error);
    }
  }

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'published-'));
    manifest = await json<Manifest>(join(root, 'package.json'));
    const library = join(folder, 'library');
    await stageOf(root, library);
    await declare(join(root, 'tsconfig.build.json'), library);
    for (const beside of besides) {
      const stage = join(folder, beside.name);
      await stageOf(folderOf(beside.name), stage);
      await declareBeside(beside, stage, library);
    }
    const stages = besides.map(({ name }) => join(folder, name));
    [packed, command, ...packedBeside] = (await packedIn(library, folderOf('cli'), ...stages)) as [
      Packed,
      Packed,
      ...Packed[],
    ];
    await install(manifest);
  }, 600_000);

  afterAll(() => rm(folder, { recursive: true, force: true }));

  const needsInstall = (context: TestContext) =>
    context.skip(unreachable !== undefined, 'The registry is out of reach');

  it('contains the build and its documents, and nothing else', () => {
    const others = packed.files
      .map(({ path }) => path)
      .filter((path) => !/^dist\/.+\.(js|d\.ts)$/.test(path))
      .sort();
    expect(others).toEqual([
      'LICENSE',
      'README.md',
      'SECURITY.md',
      'dist/THIRD-PARTY-NOTICES.txt',
      'package.json',
    ]);
  });

  it('has a command in a package of its own, with the files it writes', () => {
    const others = command.files
      .map(({ path }) => path)
      .filter((path) => !/^dist\/(chunks\/)?[\w.-]+\.js$/.test(path))
      .sort();
    expect(others).toEqual([
      'LICENSE',
      'README.md',
      'dist/THIRD-PARTY-NOTICES.txt',
      'package.json',
      'templates/server/README.md',
      'templates/server/gitignore',
      'templates/server/package.json',
      'templates/server/src/main.ts',
      'templates/server/src/server.test.ts',
      'templates/server/src/server.ts',
      'templates/server/tsconfig.json',
    ]);
  });

  it('has at most 0.8 MB, and 3 MiB unpacked', () => {
    expect(packed.size).toBeLessThanOrEqual(800_000);
    expect(packed.unpackedSize).toBeLessThanOrEqual(3 * 1024 * 1024);
  });

  it('is followed by a command of at most 2 MB with everything in it', () => {
    expect(command.size).toBeLessThanOrEqual(2_000_000);
  });

  it.each(besides)('has the package $name beside it, built and without the library', (beside) => {
    const { files, size } = packedBeside[besides.indexOf(beside)] as Packed;
    const others = files
      .map(({ path }) => path)
      .filter((path) => !/^dist\/.+\.(js|d\.ts)$/.test(path))
      .sort();
    expect(others).toEqual(['LICENSE', 'README.md', 'package.json']);
    expect(files.some(({ path }) => path === 'dist/types/index.d.ts')).toBe(true);
    expect(size).toBeLessThanOrEqual(beside.most);
  });

  it('runs nothing on installation, not even npm’s `prepare`', () => {
    const events = ['preinstall', 'install', 'postinstall', 'prepare'];
    expect(events.filter((event) => event in manifest.scripts)).toEqual([]);
  });

  it('compiles and runs with all its names and the declarations of its dependencies', async (context) => {
    needsInstall(context);
    const names = entries.flatMap(({ specifier, values, types }, at) => [
      ...values.map((name) => `export { ${name} as v${at}_${name} } from '${specifier}';`),
      ...types.map((name) => `export type { ${name} as T${at}_${name} } from '${specifier}';`),
    ]);
    await writeFile(join(app, 'names.ts'), names.join('\n'));
    await cp(new URL('program.ts', import.meta.url), join(app, 'program.ts'));
    const compilerOptions = {
      target: 'es2023',
      lib: ['es2023'],
      types: ['node'],
      module: 'nodenext',
      strict: true,
      skipLibCheck: false,
      noUncheckedIndexedAccess: true,
      verbatimModuleSyntax: true,
      outDir: 'out',
    };
    const config = { compilerOptions, files: ['program.ts', 'names.ts'] };
    await writeFile(join(app, 'tsconfig.json'), JSON.stringify(config));
    const compiled = await run(process.execPath, [...tsc, '-p', app]).catch(
      (failure: { readonly stdout: string }) => failure,
    );
    expect(compiled.stdout).toBe('');
    // XState's declarations do not compile with this option.
    const exact = { ...compilerOptions, exactOptionalPropertyTypes: true, noEmit: true };
    const exactly = { compilerOptions: exact, files: ['names.ts'] };
    await writeFile(join(app, 'tsconfig.exact.json'), JSON.stringify(exactly));
    const strictly = await run(process.execPath, [
      ...tsc,
      '-p',
      join(app, 'tsconfig.exact.json'),
    ]).catch((failure: { readonly stdout: string }) => failure);
    const faults = strictly.stdout.split('\n').filter((line) => /^\S.*error TS/.test(line));
    expect(faults.filter((line) => !/node_modules\/xstate\//.test(line))).toEqual([]);

    const { stdout } = await run(process.execPath, [join(app, 'out', 'program.js')], { cwd: app });
    expect(JSON.parse(stdout)).toEqual({
      sum: { sum: 42, kind: 'large' },
      refused: 'NEGATIVE: No debts',
      booked: 'For 3',
      read: 'the text',
      note: '7',
      prompt: { type: 'text', text: 'Hi Ada' },
      missing: -32602,
      kind: 'input-ended',
      methods: ['tools/call', 'tools/call', 'tools/call', 'resources/read'],
      page: 100,
      pet: 'GET /pet was answered with 404:\n{}',
      charts: Object.keys(charts).length,
      machines: 2,
      isOneXState: true,
      hosted: { output: 'input-ended', states: ['DRAINING', 'CLOSED'] },
      frame: 'invalid',
      transports: ['function', 'function'],
      errors: [-32602, 'CANCELLED'],
    });
  });

  describe('an uncaught mistake', () => {
    /** Like the author's shell shows it. */
    const made = (name?: string) =>
      run(process.execPath, ['mistakes.mjs', ...(name === undefined ? [] : [name])], {
        cwd: app,
      }).catch((failure: { readonly stdout: string; readonly stderr: string }) => failure);

    it("is reported in 2,000 bytes, with the author's line", async (context) => {
      needsInstall(context);
      const source = new URL('mistakes.mjs', import.meta.url);
      await cp(source, join(app, 'mistakes.mjs'));
      const lines = (await readFile(source, 'utf8')).split('\n');
      const names = JSON.parse((await made()).stdout) as readonly string[];
      expect(names.length).toBeGreaterThan(10);
      const told = await Promise.all(
        names.map(async (name) => {
          const { stderr } = await made(name);
          const line = lines.findIndex((each) => each.endsWith(`// ${name}`)) + 1;
          const isNamed = stderr.includes(`mistakes.mjs:${line}:`);
          return { name, isNamed, isShort: stderr.length < 2000 ? 'yes' : stderr };
        }),
      );
      expect(told).toEqual(names.map((name) => ({ name, isNamed: true, isShort: 'yes' })));
    });

    it('shows a line of readable code, because no imported module has long ones', async () => {
      const modules = packed.files
        .map(({ path }) => path)
        .filter((path) => /^dist\/.+\.js$/.test(path) && !/^dist\/(bin|inspect)\//.test(path));
      expect(modules.length).toBeGreaterThan(20);
      const long = await Promise.all(
        modules.map(async (path) => {
          const text = await readFile(join(root, path), 'utf8');
          // Texts shown on pages must match exactly.
          const longest = text.split('\n').filter((line) => !/^var \w+ = ['"`]/.test(line));
          return { path, longest: Math.max(...longest.map(({ length }) => length)) };
        }),
      );
      expect(long.filter(({ longest }) => longest > 2000)).toEqual([]);
    });
  });

  it('runs its command', async (context) => {
    needsInstall(context);
    const script = join(app, 'node_modules', '.bin', 'mcp-actors');
    const { stdout } = await run(process.execPath, [script, '--version'], { cwd: app });
    expect(stdout).toMatch(/^(mcp-actors )?\d+\.\d+\.\d+/);
  });

  it('creates a server that installs, passes its tests, and answers a client', async (context) => {
    needsInstall(context);
    const script = join(app, 'node_modules', '.bin', 'mcp-actors');
    const args = [script, 'init', 'my-server', '--package', packed.filename];
    await run(process.execPath, args, { cwd: folder });
    const own = join(folder, 'my-server');
    const installed = await npm(['install', '--prefer-offline'], own);
    expect(installed.stderr).not.toContain('mcp-actors');
    const tested = await npm(['test'], own);
    expect(tested.stdout).toMatch(/^. fail 0$/m);
    expect(tested.stdout).toMatch(/^. pass 12$/m);

    const client = new Client({ name: 'test', version: '1' });
    const server = { command: process.execPath, args: [join(own, 'dist', 'main.js')] };
    await client.connect(new StdioClientTransport(server));
    expect(client.getServerVersion()).toMatchObject({ name: 'my-server' });
    const dice = { name: 'roll_dice', arguments: { count: 3 } };
    const { structuredContent } = await client.callTool(dice);
    expect(structuredContent).toHaveProperty('rolls.length', 3);
    await client.close();
  });

  describe('in a project without modules', () => {
    beforeAll(async () => {
      if (unreachable !== undefined) return;
      const link = join(app, 'node_modules', 'tsx');
      await symlink(join(root, 'node_modules', 'tsx'), link, 'junction');
    });

    const commands = {
      tsx: (state: string) => [tsx, 'required-server.ts', 'serve', state],
      'the command': (state: string) => [
        join(app, 'node_modules', '.bin', 'mcp-actors'),
        ...['serve', 'required-server.ts', '--durable', state],
      ],
    };
    const cases = (['legacy', 'modern'] as const).flatMap((era) =>
      (['tsx', 'the command'] as const).map((by) => ({ era, by })),
    );

    it.for(cases)(
      'serves durable calls, suspended calls and tasks by $by ($era)',
      async ({ era, by }, context) => {
        needsInstall(context);
        const cwd = await mkdtemp(join(app, 'required-'));
        await writeFile(join(cwd, 'package.json'), '{"private":true}');
        const source = new URL('required-server.ts', import.meta.url);
        await cp(source, join(cwd, 'required-server.ts'));
        const elicit = () => ({ action: 'accept', content: { day: 'Monday' } }) as const;
        const args = commands[by](join(cwd, 'state'));
        await using host = await connect({ command: process.execPath, args, cwd }, { era, elicit });
        const results = ['durable', 'suspended', 'machine', 'task'].map(async (name) => {
          const { content } = await host.callTool(name, {});
          return content[0]?.type === 'text' ? content[0].text : content;
        });
        expect(await Promise.all(results)).toEqual([
          ...['durable 42 Monday', 'suspended accept', 'machine Monday', 'no stock'],
        ]);
      },
    );
  });

  it('works without the optional peers, and says which one an entry needs', async (context) => {
    needsInstall(context);
    for (const peer of ['@opentelemetry', 'redis']) {
      await rm(join(app, 'node_modules', peer), { recursive: true });
    }
    const load = (specifier: string) =>
      run(process.execPath, ['--input-type=module', '--eval', `await import('${specifier}')`], {
        cwd: app,
      });
    await load('mcp-actors');
    await load('mcp-actors/testing');
    await expect(load('mcp-actors/opentelemetry')).rejects.toThrow('@opentelemetry/api');
    await expect(load('mcp-actors/redis')).rejects.toThrow("package 'redis'");
  });
});
