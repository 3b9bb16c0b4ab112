/**
 * Builds `dist/`, the library and, unless `--bundle-only` is given, its declarations; and `packages/cli/dist/`, the command.
 * With `--bundle-only` nothing is built if nothing has changed since the last build.
 *
 * Outputs are compared with what is on disk and replaced one by one, so that a process which runs
 * from one of them while a test run builds the same sources is never disturbed.
 */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, readFile, readdir, rm } from 'node:fs/promises';
import { createRequire, isBuiltin } from 'node:module';
import { basename, dirname, join, relative, resolve as absolute, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { builtFolders, bundledFiles, isBuilt, keepBuilt, sourcesHash } from './built.mjs';
import { pruneDeclarations } from './prune-declarations.mjs';
import { replaceFile } from './replace-file.mjs';
import { splitBuild } from './split-build.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
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
 * Keeps what is loaded at once in one chunk. esbuild makes a chunk of each set of modules that the same entries and lazy imports need, and each file
 * costs Node about as much as 10 KB of code. So what is imported in one of these ways needs all of `mains` here, which are there before it in
 * nearly every process.
 *
 * A lazy import of a CommonJS package gets the names that the package has in Node: a chunk's exports are fixed when it is built, so that esbuild alone
 * would leave it nothing but `default`.
 * @param {readonly string[]} mains modules' paths from the root; the first is loaded before the others
 * @param {import('esbuild').ImportKind[]} kinds
 * @param {readonly string[]} besides modules that need the first of them alone
 * @returns {import('esbuild').Plugin}
 */
const afterMain = (mains, kinds, besides = []) => ({
  name: 'after-main',
  setup({ onLoad, onResolve, resolve, initialOptions }) {
    const [first = '', ...others] = mains.map((path) => join(root, path));
    const small = [...others, ...besides.map((path) => join(root, path))];
    /** @param {string} path */
    const before = (path) =>
      mains
        .slice(0, small.includes(path) ? 1 : undefined)
        .map((main) => `import './${main}';`)
        .join('');
    onResolve({ filter: /^/ }, async ({ path, kind, importer, resolveDir }) => {
      const isLazy = kinds.includes(kind);
      const own = absolute(resolveDir, path);
      // An import without a name is left out, unless the module has an effect.
      if (own === first || (!isLazy && others.includes(own)))
        return { path: own, sideEffects: true };
      const isOutside = (name) => path === name || path.startsWith(`${name}/`);
      const elsewhere = isBuiltin(path) || initialOptions.external?.some(isOutside);
      if (!isLazy || elsewhere) return undefined;
      const found = await resolve(path, { kind: 'import-statement', importer, resolveDir });
      return found.path.includes('node_modules')
        ? { path, namespace: 'package-after-main' }
        : { path: found.path, namespace: 'after-main' };
    });
    onLoad({ filter: /^/, namespace: 'after-main' }, ({ path }) => ({
      contents: `${before(path)} export * from '${path}';`,
      resolveDir: root,
    }));
    onLoad({ filter: /^/, namespace: 'package-after-main' }, async ({ path }) => {
      const names = Object.keys(await import(path)).filter((name) => /^[\w$]+$/.test(name));
      return {
        contents: `${before(path)} export { ${names.join(', ')} } from '${path}';`,
        resolveDir: root,
      };
    });
  },
});

/** The entries of the library and of the packages, by what is imported: the path of the source from the root. */
const { paths: sources } = JSON.parse(
  await readFile(join(root, 'tsconfig.json'), 'utf8'),
).compilerOptions;

/**
 * What an entry exports: by name, the module that declares it and its name there.
 * @param {string} specifier
 */
async function exportsOf(specifier) {
  const source = join(root, sources[specifier][0]);
  const lists = (await readFile(source, 'utf8')).matchAll(
    /^export (?:\{([^}]*)\}|(\* as \w+)) from '(\.[^']+)';/gm,
  );
  return new Map(
    [...lists].flatMap(([, names, whole = '', path = '']) =>
      namesIn(names ?? whole).map(({ name, as }) => [
        as,
        {
          name,
          from: `./${relative(root, join(dirname(source), path))
            .split(sep)
            .join('/')}`,
        },
      ]),
    ),
  );
}

/**
 * `a, b as c`
 * @param {string} list
 */
const namesIn = (list) =>
  list
    .split(',')
    .map((each) => each.trim())
    .filter((each) => each !== '' && !each.startsWith('type '))
    .map((each) => {
      const [name = '', as = name] = each.split(' as ');
      return { name, as };
    });

/**
 * Leads each import of an entry to the module that declares the name. esbuild gives the start of the command all that any part of the command
 * takes from an entry, as soon as the start takes one name from it.
 * @type {import('esbuild').Plugin}
 */
const pastEntries = {
  name: 'past-entries',
  setup({ onLoad }) {
    const exported = new Map(
      Object.keys(sources).map((specifier) => [specifier, exportsOf(specifier)]),
    );
    const ours = /[\\/]packages[\\/][\w-]+[\\/]src[\\/].+\.tsx?$/;
    onLoad({ filter: ours, namespace: 'file' }, async ({ path }) => {
      const text = await readFile(path, 'utf8');
      const toRoot = relative(dirname(path), root).split(sep).join('/');
      const known = new Map();
      for (const [specifier, names] of exported) known.set(specifier, await names);
      const contents = text.replace(
        /^(import|export) \{([^}]*)\} from '([^']+)';/gm,
        (statement, verb, list, specifier) => {
          const names = known.get(specifier);
          if (names === undefined) return statement;
          return namesIn(list)
            .map(({ name, as }) => {
              const { name: there, from } = names.get(name);
              const what = there === '*' ? `* as ${as}` : `{ ${there} as ${as} }`;
              return `${verb} ${what} from '${toRoot}/${from}';`;
            })
            .join(' ');
        },
      );
      return { contents, loader: path.endsWith('x') ? 'tsx' : 'ts', resolveDir: dirname(path) };
    });
  },
};

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
 * The official client for its logins alone. Its classes for connections set fields of the modules around them while they load, so that esbuild would
 * keep them, a JSON Schema validator and the schemas of all messages: 400 KB that no login runs.
 * @type {import('esbuild').Plugin}
 */
const loginAlone = {
  name: 'login-alone',
  setup({ onLoad, onResolve, resolve }) {
    const files = /@modelcontextprotocol[\\/]client[\\/]dist[\\/][\w-]+\.mjs$/;
    const effects =
      /^\tstatic \{\n\t\t(?:clientInternals|writeNegotiatedProtocolVersion)[^]*?\n\t\}\n|^for \(.*\) register\(key, .*\);\n/gm;
    onLoad({ filter: files }, async ({ path }) => ({
      contents: (await readFile(path, 'utf8')).replace(effects, ''),
    }));
    const ownImports = /^\.\/[\w-]+\.mjs$|^@modelcontextprotocol\/client\/_shims$/;
    onResolve({ filter: ownImports }, async ({ path, pluginData = [], ...others }) => {
      if (pluginData.includes('login-alone') || !files.test(others.importer)) return undefined;
      const asked = [...pluginData, 'login-alone'];
      const found = await resolve(path, { ...others, pluginData: asked });
      return files.test(found.path) ? { path: found.path, sideEffects: false } : undefined;
    });
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
  return splitBuild({
    ...common,
    entryPoints: Object.fromEntries(
      entriesOf(own).map((name) => [name, `./${path}/src/${name}.ts`]),
    ),
    outdir: `${path}/dist`,
    chunkNames: 'chunks/[name]-[hash]',
    external: packageNames(own).flatMap((name) => [name, `${name}/*`]),
  });
}

/** The inspector's page: its scripts and its style, as modules of texts, which the inspector imports as `#inspect-page`. */
async function pageAssets() {
  const { outputFiles, metafile } = await splitBuild({
    absWorkingDir: root,
    entryPoints: {
      page: 'packages/inspector/src/page/main.tsx',
      style: 'packages/inspector/src/page/page.css',
    },
    outdir: 'page',
    bundle: true,
    splitting: true,
    format: 'esm',
    // A module that a plugin has resolved is built without its tsconfig.json.
    jsx: 'automatic',
    jsxImportSource: 'preact',
    target: ['chrome109', 'firefox115', 'safari16.4'],
    minify: true,
    metafile: true,
    write: false,
    logLevel: 'warning',
    // The page takes words from `mcp-actors/internal`. What else that exports is left out, with what it needs.
    external: ['node:*', 'cross-spawn', 'jose'],
    plugins: [pastEntries],
  });
  const texts = outputFiles.map(({ path, text }) => ({ name: basename(path), text }));
  const scripts = texts.filter(({ name }) => name.endsWith('.js'));
  const style = texts.find(({ name }) => name.endsWith('.css'))?.text;
  const names = scripts.map(({ name }, index) => `${JSON.stringify(name)}: script${index}`);
  const files = new Map(
    scripts.map(({ name, text }) => [`page/${name}`, `export default ${JSON.stringify(text)};\n`]),
  );
  files.set(
    'page-assets.js',
    `${scripts.map(({ name }, index) => `import script${index} from './page/${name}';\n`).join('')}
export const scripts = { ${names.join(', ')} };
export const style = ${JSON.stringify(style)};
`,
  );
  return { files, metafile };
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
  splitBuild({
    ...common,
    entryPoints: libraryEntries,
    outdir: 'dist',
    chunkNames: 'chunks/[name]-[hash]',
    external,
    plugins: [
      mappedXState,
      lazyGrammar,
      afterMain(['src/index.ts'], ['dynamic-import', 'entry-point']),
    ],
  }),
  splitBuild({
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
      loginAlone,
      afterMain(
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
    ? Buffer.from(text.replace(/^(?:import "\.[^"\n]+\.js";|\/\/ (?:src|packages)\/.*)$/gm, ''))
    : contents;
// esbuild leaves a `require` in a bundled CommonJS module, and only the call that loads it would fail: "Dynamic require of … is not supported".
for (const { metafile } of results) {
  for (const [path, { imports }] of Object.entries(metafile.outputs)) {
    const required = imports.filter(({ kind }) => kind === 'require-call').map((each) => each.path);
    if (required.length === 0) continue;
    console.error(`${path} requires ${required.join(', ')}, which no ES module can`);
    process.exit(1);
  }
}
const outputs = new Map(
  results.flatMap(({ outputFiles }, index) =>
    outputFiles.map((file) => [file.path, index === 0 ? withoutNoise(file) : file.contents]),
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
