/**
 * Builds `dist/`, the library and, unless `--bundle-only` is given, its declarations; and `packages/cli/dist/`, the command.
 * With `--bundle-only` nothing is built if nothing has changed since the last build.
 *
 * Outputs are compared with what is on disk and replaced one by one, so that a process which runs
 * from one of them while a test run builds the same sources is never disturbed.
 */
import { spawnSync } from 'node:child_process';
import { chmod, readFile, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join, relative, sep } from 'node:path';
import { build, transformSync } from 'esbuild';
import { notices } from './build/notices.mjs';
import { pageAssets } from './build/page.mjs';
import {
  afterStart,
  lazyGrammar,
  mappedXState,
  pastEntries,
  requiredXState,
  root,
  sources,
} from './build/plugins.mjs';
import { builtFolders, bundledFiles, isBuilt, keepBuilt, sourcesHash } from './built.mjs';
import { pruneDeclarations } from './prune-declarations.mjs';
import { replaceFile } from './replace-file.mjs';

const commandFolder = join(root, 'packages', 'cli');
const [dist, commandDist, inspectorDist] = builtFolders;
const command = join(commandDist, 'cli.js');
const require = createRequire(import.meta.url);
const isBundleOnly = process.argv.includes('--bundle-only');

const sourcesBefore = await sourcesHash();
if (isBundleOnly && (await isBuilt(sourcesBefore))) process.exit();

/** @param {string} folder of a package */
const manifestOf = async (folder) =>
  JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'));

/**
 * What a package's user installs beside it.
 * @param {{ readonly dependencies?: object, readonly peerDependencies?: object }} manifest
 */
const packageNames = ({ dependencies, peerDependencies }) =>
  Object.keys({ ...dependencies, ...peerDependencies });

const manifest = await manifestOf(root);

/** @type {import('esbuild').BuildOptions} */
const common = {
  absWorkingDir: root,
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node20',
  // Not published: they lead from a stack of the command to the sources, which a checkout has.
  sourcemap: 'external',
  sourcesContent: false,
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
 * the line that threw. Short names make a start a tenth cheaper: Node 20 compiles all of it each time. The maps have the names of a stack. Lines
 * stay, so that a bug prints one of them and not the whole file.
 * @type {import('esbuild').BuildOptions}
 */
const minified = {
  minifySyntax: true,
  minifyWhitespace: true,
  minifyIdentifiers: true,
  lineLimit: 120,
};

/** Of rxjs the few operators in use are inlined instead. */
const external = packageNames(manifest).filter((name) => name !== 'rxjs');

/**
 * A package's entries are its exports: `./dist/x.js` is built from `src/x.ts`.
 * @param {{ readonly exports: { readonly [name: string]: { readonly default?: string } } }} manifest
 */
const entriesOf = ({ exports }) =>
  Object.values(exports)
    .map((target) => /^\.\/dist\/(.+)\.js$/.exec(target.default)?.[1])
    .filter((name) => name !== undefined);

/** The library's entries: `./dist/x.js` is built from the source that tsconfig.json names for what is imported. */
const libraryEntries = Object.fromEntries(
  Object.entries(manifest.exports).flatMap(([name, target]) => {
    const [, output] = /^\.\/dist\/(.+)\.js$/.exec(target.default ?? '') ?? [];
    return output === undefined ? [] : [[output, sources[name.replace('.', 'mcp-actors')][0]]];
  }),
);

/** Published beside the library, which they ask for as any user does. */
const besides = ['inspector', 'openapi'].map((name) => join(root, 'packages', name));

/** @param {string} folder of such a package */
async function buildBeside(folder) {
  const own = await manifestOf(folder);
  const path = relative(root, folder).split(sep).join('/');
  return build({
    ...common,
    entryPoints: Object.fromEntries(
      entriesOf(own).map((name) => [name, `./${path}/src/${name}.ts`]),
    ),
    outdir: `${path}/dist`,
    chunkNames: 'chunks/[name]-[hash]',
    external: packageNames(own).flatMap((name) => [name, `${name}/*`]),
  });
}

const failed = () => {
  // esbuild has said what is wrong, with the place.
  process.exit(1);
};
const assets = await pageAssets().catch(failed);

const assetFiles = [...assets.files].map(([name, text]) => ({
  path: join(inspectorDist, name),
  contents: Buffer.from(text),
}));
await Promise.all(assetFiles.map(({ path, contents }) => replaceFile(path, contents)));

const builds = [
  build({
    ...common,
    entryPoints: libraryEntries,
    outdir: 'dist',
    chunkNames: 'chunks/[name]-[hash]',
    external,
    plugins: [
      mappedXState,
      lazyGrammar,
      afterStart(['src/index.ts'], ['dynamic-import', 'entry-point']),
    ],
  }),
  build({
    ...common,
    entryPoints: { main: 'packages/cli/src/main.ts' },
    // yaml's module for Node requires `process`, which an ES module cannot; its module for browsers is an ES module.
    alias: { ...common.alias, yaml: './node_modules/yaml/browser/index.js' },
    outdir: commandDist,
    chunkNames: 'chunks/[name]-[hash]',
    ...minified,
    // Its executable lies in a package of its own, found relative to the module.
    // The inspector's package and that of Redis are there only where somebody wants them.
    // What launches processes on Windows is CommonJS that requires Node's modules, and no ES module can hold such.
    external: packageNames(await manifestOf(commandFolder)),
    plugins: [
      pastEntries,
      lazyGrammar,
      afterStart(
        ['packages/cli/src/main.ts', 'packages/cli/src/serve.ts'],
        ['dynamic-import'],
        ['packages/cli/src/bridge.ts'],
      ),
    ],
    legalComments: 'none',
  }),
  ...besides.map(buildBeside),
  // What turns the compile cache on has to be loaded before what comes from it, and what starts a process ahead before all that may take its time.
  build({
    ...common,
    entryPoints: Object.fromEntries(
      ['cli', 'ahead', 'hold-pipe'].map((name) => [name, `packages/cli/src/${name}.ts`]),
    ),
    outdir: commandDist,
    splitting: false,
    external: packageNames(await manifestOf(commandFolder)),
    ...minified,
    plugins: [
      {
        name: 'beside',
        setup: ({ onResolve }) =>
          onResolve({ filter: /\/(?:main|ahead|hold-pipe)\.ts$/ }, ({ path, kind }) =>
            kind === 'entry-point'
              ? undefined
              : { path: path.replace(/ts$/, 'js'), external: true },
          ),
      },
      pastEntries,
    ],
  }),
];

/**
 * @param {string} folder
 * @param {ReadonlyMap<string, unknown>} kept
 */
async function removeStale(folder, kept) {
  const stale = (await bundledFiles(folder)).filter((path) => !kept.has(path));
  await Promise.all(stale.map((path) => rm(path, { force: true })));
}

/** @param {string} folder of a package */
function emitDeclarations(folder) {
  const tsc = join(dirname(require.resolve('typescript/package.json')), 'bin', 'tsc');
  const { status } = spawnSync(
    process.execPath,
    [tsc, '-p', 'tsconfig.build.json', '--checkers', '1'],
    {
      cwd: folder,
      stdio: 'inherit',
    },
  );
  // tsc too has said why.
  if (status !== 0) process.exit(1);
}

const started = performance.now();
const results = await Promise.all(builds).catch(failed);
/**
 * Without the imports that take nothing: what the library's modules do when they are loaded, no other module needs
 * (`sideEffects`), and bundlers warn of such an import. And without the names of source files, which the maps have. The
 * lines stay, for the maps.
 * @param {import('esbuild').OutputFile} file
 */
const withoutNoise = ({ path, text, contents }) =>
  path.endsWith('.js')
    ? Buffer.from(
        text
          .replace(/^(?:import "\.[^"\n]+\.js";|\/\/ (?:src|packages)\/.*)$/gm, '')
          .replace(/\bimport\(("\.[^"\n]+\.js")\)/g, loadOnce),
      )
    : contents;
/**
 * tsx loads the library through `require` if the project is not `"type": "module"`. An `import()` there would load a second copy of
 * the library, with classes, brands and weak maps of its own.
 */
const loadOnce =
  '(typeof require === "function" ? Promise.resolve().then(() => require($1)) : import($1))';
// esbuild leaves a `require` in a bundled CommonJS module, and only the call that loads it would fail: "Dynamic require of … is not supported".
for (const { metafile } of results) {
  for (const [path, { imports }] of Object.entries(metafile.outputs)) {
    const required = imports.filter(({ kind }) => kind === 'require-call').map((each) => each.path);
    if (required.length === 0) continue;
    console.error(`${path} requires ${required.join(', ')}, which no ES module can`);
    process.exit(1);
  }
}
const [{ metafile: ofLibrary }] = results;
/** True for a chunk of other packages alone: a stack never shows its lines to its author. */
const isForeign = (/** @type {string} */ path) => {
  const { inputs } = ofLibrary.outputs[relative(root, path).split(sep).join('/')] ?? { inputs: {} };
  const sources = Object.keys(inputs);
  return sources.length > 0 && sources.every((source) => source.startsWith('node_modules/'));
};
/** @param {import('esbuild').OutputFile} file */
const ofPackage = (file) =>
  file.path.endsWith('.js') && isForeign(file.path)
    ? Buffer.from(transformSync(file.text, minified).code)
    : withoutNoise(file);
const outputs = new Map(
  results.flatMap(({ outputFiles }, index) =>
    outputFiles.map((file) => [file.path, index === 0 ? ofPackage(file) : file.contents]),
  ),
);
outputs.set(join(root, manifest.imports['#xstate'].node), Buffer.from(await requiredXState()));
const [library, ...commands] = results;
for (const [folder, bundles] of /** @type {const} */ ([
  [dist, [library]],
  [commandDist, commands],
])) {
  const metafiles = bundles.map(({ metafile }) => metafile);
  outputs.set(join(folder, 'THIRD-PARTY-NOTICES.txt'), Buffer.from(await notices(metafiles)));
}
for (const { path, contents } of assetFiles) outputs.set(path, contents);
await Promise.all([...outputs].map(([path, contents]) => replaceFile(path, contents)));
await chmod(command, 0o755);
await Promise.all(builtFolders.map((folder) => removeStale(folder, outputs)));
await keepBuilt(sourcesBefore);
if (!isBundleOnly) {
  // Theirs are made of the library's.
  for (const folder of [root, ...besides]) {
    await rm(join(folder, 'dist', 'types'), { recursive: true, force: true });
    emitDeclarations(folder);
    pruneDeclarations(folder);
  }
}
console.error(
  `built ${[dist, commandDist].map((folder) => relative(root, folder)).join(' and ')} in ${Math.round(performance.now() - started)} ms (${outputs.size} files)`,
);
