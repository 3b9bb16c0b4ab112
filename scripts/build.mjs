/**
 * Builds `dist/`: the library, the command and, unless `--bundle-only` is given, the declarations.
 *
 * Outputs are compared with what is on disk and replaced one by one, so that a process which runs
 * from `dist/` while a test run builds the same sources is never disturbed.
 */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, readFile, readdir, rm } from 'node:fs/promises';
import { createRequire, isBuiltin } from 'node:module';
import { dirname, join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { replaceFile } from './replace-file.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const dist = join(root, 'dist');
const types = join(dist, 'types');
const command = join(dist, 'bin', 'cli.js');
const require = createRequire(import.meta.url);
const manifest = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));

/** @type {import('esbuild').BuildOptions} */
const common = {
  absWorkingDir: root,
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node20',
  sourcemap: true,
  metafile: true,
  write: false,
  logLevel: 'warning',
  define: { __VERSION__: JSON.stringify(manifest.version) },
  // Under Node's conditions rxjs resolves to CommonJS, which esbuild cannot shake: about 200 modules.
  // jsonc-parser's CommonJS asks for its parts by a parameter, which esbuild does not follow.
  alias: {
    rxjs: './node_modules/rxjs/dist/esm/index.js',
    'jsonc-parser': './node_modules/jsonc-parser/lib/esm/main.js',
  },
};

/**
 * The command alone: it is read by nobody, and prints its own errors. The library stays as readable as its sources, because Node shows
 * the line that threw. Names stay, for stacks; and lines, so that a bug prints one of them and not the whole file.
 * @type {import('esbuild').BuildOptions}
 */
const minified = { minifySyntax: true, minifyWhitespace: true, lineLimit: 120 };

/** What a user installs beside the library; of rxjs the few operators in use are inlined instead. */
const external = Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies }).filter(
  (name) => name !== 'rxjs',
);

/**
 * Keeps what is loaded at once in one chunk. esbuild makes a chunk of each set of modules that the same entries and lazy imports need, and each file
 * costs Node about as much as 10 KB of code. So what is imported in one of these ways needs all of `main` here, which is there before it in
 * nearly every process.
 *
 * A lazy import of a CommonJS package gets the names that the package has in Node: a chunk's exports are fixed when it is built, so that esbuild alone
 * would leave it nothing but `default`.
 * @param {string} main a module's path from the root
 * @param {import('esbuild').ImportKind[]} kinds
 * @returns {import('esbuild').Plugin}
 */
const afterMain = (main, kinds) => ({
  name: 'after-main',
  setup({ onLoad, onResolve, resolve, initialOptions }) {
    const mainPath = join(root, main);
    const first = `import './${main}';`;
    onResolve({ filter: /^/ }, async ({ path, kind, importer, resolveDir }) => {
      // An import without a name is left out, unless the module has an effect.
      if (join(resolveDir, path) === mainPath) return { path: mainPath, sideEffects: true };
      const elsewhere = isBuiltin(path) || initialOptions.external?.includes(path);
      if (!kinds.includes(kind) || elsewhere) return undefined;
      if (!path.startsWith('.')) return { path, namespace: 'package-after-main' };
      const found = await resolve(path, { kind: 'import-statement', importer, resolveDir });
      return { path: found.path, namespace: 'after-main' };
    });
    onLoad({ filter: /^/, namespace: 'after-main' }, ({ path }) => ({
      contents: `${first} export * from '${path}';`,
      resolveDir: root,
    }));
    onLoad({ filter: /^/, namespace: 'package-after-main' }, async ({ path }) => {
      const names = Object.keys(await import(path)).filter((name) => /^[\w$]+$/.test(name));
      return {
        contents: `${first} export { ${names.join(', ')} } from '${path}';`,
        resolveDir: root,
      };
    });
  },
});

/**
 * The grammar of URI templates is built when the first template is: few servers have one, and all of them would wait for it.
 * @type {import('esbuild').Plugin}
 */
const lazyGrammar = {
  name: 'lazy-grammar',
  setup({ onLoad, onResolve }) {
    const namespace = 'lazy-grammar';
    onResolve({ filter: /^uri-template$/ }, ({ path, namespace: from }) =>
      from === namespace ? undefined : { path, namespace },
    );
    onLoad({ filter: /^/, namespace }, ({ path }) => ({
      contents: `export const parse = (template) => require('${path}').parse(template);`,
      resolveDir: root,
    }));
  },
};

/**
 * The library asks for XState as `#xstate`, which the manifest maps: a bundler gets `xstate` itself, Node a module that requires
 * it. It is the same copy, because XState's own module for `import` does nothing else; but Node, before it imports CommonJS, reads
 * all of it once more for the names that it exports.
 * @type {import('esbuild').Plugin}
 */
const mappedXState = {
  name: 'mapped-xstate',
  setup: ({ onResolve }) =>
    onResolve({ filter: /^xstate$/ }, () => ({ path: '#xstate', external: true })),
};

async function requiredXState() {
  const names = Object.keys(await import('xstate')).filter((name) => name !== 'default');
  return `import { createRequire } from 'node:module';
export const { ${names.join(', ')} } = createRequire(import.meta.url)('xstate');
`;
}

/** The library's entries are the package's exports: `./dist/x.js` is built from `src/x.ts`. */
const entries = Object.values(manifest.exports)
  .map((target) => /^\.\/dist\/(.+)\.js$/.exec(target.default)?.[1])
  .filter((name) => name !== undefined);

/**
 * The inspector's page: its script and its style, as a module of texts, so that they lie in the bundles of whoever serves it.
 * From the sources it is found as `#inspect-page`.
 */
async function pageAssets() {
  const { outputFiles, metafile } = await build({
    absWorkingDir: root,
    entryPoints: { page: 'src/inspect/page/main.tsx', style: 'src/inspect/page/page.css' },
    outdir: 'page',
    bundle: true,
    format: 'esm',
    target: ['chrome109', 'firefox115', 'safari16.4'],
    minify: true,
    metafile: true,
    write: false,
    logLevel: 'warning',
  });
  const text = (/** @type {string} */ end) =>
    JSON.stringify(outputFiles.find(({ path }) => path.endsWith(end))?.text);
  const contents = `export const script = ${text('.js')};\nexport const style = ${text('.css')};\n`;
  return { contents, metafile };
}

const failed = () => {
  // esbuild has said what is wrong, with the place.
  process.exit(1);
};
const assets = await pageAssets().catch(failed);

/** @type {import('esbuild').Plugin} */
const inspectPage = {
  name: 'inspect-page',
  setup({ onLoad, onResolve }) {
    const namespace = 'inspect-page';
    onResolve({ filter: /^#inspect-page$/ }, ({ path }) => ({ path, namespace }));
    onLoad({ filter: /^/, namespace }, () => ({ contents: assets.contents }));
  },
};

const builds = [
  build({
    ...common,
    entryPoints: Object.fromEntries(entries.map((name) => [name, `./src/${name}.ts`])),
    outdir: 'dist',
    chunkNames: 'chunks/[name]-[hash]',
    external,
    plugins: [
      mappedXState,
      inspectPage,
      lazyGrammar,
      afterMain('src/index.ts', ['dynamic-import', 'entry-point']),
    ],
  }),
  build({
    ...common,
    entryPoints: { main: 'src/cli/main.ts' },
    outdir: 'dist/bin',
    chunkNames: 'chunks/[name]-[hash]',
    ...minified,
    // Its executable lies in a package of its own, found relative to the module.
    // The inspector's package and that of Redis are there only where somebody wants them.
    // What launches processes on Windows is CommonJS that requires Node's modules, and no ES module can hold such.
    external: ['@vscode/ripgrep', '@statelyai/inspect', 'cross-spawn', 'redis'],
    plugins: [inspectPage, lazyGrammar, afterMain('src/cli/main.ts', ['dynamic-import'])],
    legalComments: 'none',
    sourcesContent: false,
  }),
  // What turns the compile cache on has to be loaded before what comes from it.
  build({
    ...common,
    entryPoints: { cli: 'src/cli.ts' },
    outdir: 'dist/bin',
    splitting: false,
    ...minified,
    plugins: [
      {
        name: 'main-beside',
        setup: ({ onResolve }) =>
          onResolve({ filter: /\/main\.ts$/ }, () => ({ path: './main.js', external: true })),
      },
    ],
  }),
];

/**
 * The packages that a bundled file is of: the one that it lies in, and those that this one's own bundler has put into the file, which marks
 * each with a region.
 * @param {string} path from the root
 */
async function packagesOf(path) {
  const own = path.split('node_modules/').at(-1) ?? '';
  if (own === path) return [];
  const text = await readFile(join(root, path), 'utf8');
  const regions = [...text.matchAll(/^\/\/#region .*node_modules\/(.+)$/gm)].map(
    ([, name]) => name,
  );
  return [own, ...regions].flatMap((name) => /^(?:@[^/]+\/)?[^/]+/.exec(name ?? '')?.[0] ?? []);
}

/**
 * The licences of the packages that the bundles contain, as those licences ask.
 * @param {import('esbuild').Metafile[]} metafiles
 */
async function notices(metafiles) {
  const bundled = metafiles
    .flatMap((metafile) => Object.values(metafile.outputs))
    .flatMap((output) => Object.entries(output.inputs))
    .filter(([, { bytesInOutput }]) => bytesInOutput > 0)
    // What a plugin has named has its name before it.
    .map(([path]) => path.replace(/^[\w-]+:/, ''));
  const names = new Set((await Promise.all([...new Set(bundled)].map(packagesOf))).flat());
  const sections = [...names].sort().map(async (name) => `${await noticeOf(name)}\n`);
  return `Parts of these packages are included in this distribution.\n\n${(await Promise.all(sections)).join(`\n${'-'.repeat(80)}\n\n`)}`;
}

/**
 * @param {string} name
 * @throws {Error} the package has no text of its licence: it belongs into `scripts/licences`
 */
async function noticeOf(name) {
  const kept = join(root, 'scripts', 'licences', `${name.replace('/', '__')}.txt`);
  if (existsSync(kept)) return (await readFile(kept, 'utf8')).trim();
  const folder = join(root, 'node_modules', name);
  const { version, license } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'));
  const file = (await readdir(folder)).find((entry) => /^licen[cs]e/i.test(entry));
  if (file === undefined)
    throw new Error(`${name} has no text of its licence: put it into ${kept}`);
  return `${name} ${version} (${license})\n\n${(await readFile(join(folder, file), 'utf8')).trim()}`;
}

/** @param {Set<string>} kept */
async function removeStale(kept) {
  const entries = await readdir(dist, { recursive: true, withFileTypes: true });
  const stale = entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => !kept.has(path) && !path.startsWith(types + sep) && !path.endsWith('.tmp'));
  await Promise.all(stale.map((path) => rm(path, { force: true })));
}

function emitDeclarations() {
  const tsc = join(dirname(require.resolve('typescript/package.json')), 'bin', 'tsc');
  const { status } = spawnSync(process.execPath, [tsc, '-p', 'tsconfig.build.json'], {
    cwd: root,
    stdio: 'inherit',
  });
  // tsc too has said why.
  if (status !== 0) process.exit(1);
}

const started = performance.now();
const results = await Promise.all(builds).catch(failed);
const outputs = new Map(
  results.flatMap((result) => result.outputFiles).map((file) => [file.path, file.contents]),
);
outputs.set(join(root, manifest.imports['#xstate'].node), Buffer.from(await requiredXState()));
outputs.set(
  join(dist, 'THIRD-PARTY-NOTICES.txt'),
  Buffer.from(await notices([assets, ...results].map(({ metafile }) => metafile))),
);
outputs.set(join(dist, 'inspect', 'page-assets.js'), Buffer.from(assets.contents));
await Promise.all([...outputs].map(([path, contents]) => replaceFile(path, contents)));
await chmod(command, 0o755);
await removeStale(new Set(outputs.keys()));
if (!process.argv.includes('--bundle-only')) {
  await rm(types, { recursive: true, force: true });
  emitDeclarations();
}
console.error(
  `built ${relative(root, dist)} in ${Math.round(performance.now() - started)} ms (${outputs.size} files)`,
);
