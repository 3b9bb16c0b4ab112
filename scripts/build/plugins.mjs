/** Plug-ins of the build. Each makes a start cheaper: docs/maintaining/decisions/27-what-is-published.md has the figures. */
import { readFile } from 'node:fs/promises';
import { dirname, join, relative, resolve as absolute, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../..', import.meta.url));

/**
 * Keeps the modules of a start in one chunk. esbuild makes a chunk of each set of modules that the same entries and lazy imports need. So every lazy
 * module imports the start's modules first: they are loaded by then, and no longer differ in who needs them.
 *
 * @param {readonly string[]} starts modules' paths from the root, in the order in which a process loads them
 * @param {import('esbuild').ImportKind[]} kinds the imports that count as lazy
 * @param {readonly string[]} early lazy modules that a process loads after the first start alone
 * @returns {import('esbuild').Plugin}
 */
export const afterStart = (starts, kinds, early = []) => ({
  name: 'after-start',
  setup({ onLoad, onResolve }) {
    const files = starts.map((path) => join(root, path));
    const second = [...files.slice(1), ...early.map((path) => join(root, path))];
    const before = (/** @type {string} */ path) =>
      starts.slice(0, second.includes(path) ? 1 : undefined);
    onResolve({ filter: /\.tsx?$/ }, ({ path, kind, resolveDir }) => {
      const file = absolute(resolveDir, path);
      if (kinds.includes(kind) && file !== files[0])
        return { path: file, namespace: 'after-start' };
      // esbuild drops an import without a name, unless the module has an effect.
      return files.includes(file) ? { path: file, sideEffects: true } : undefined;
    });
    onLoad({ filter: /^/, namespace: 'after-start' }, ({ path }) => ({
      contents: [
        ...before(path).map((start) => `import './${start}';`),
        `export * from '${path}';`,
      ].join('\n'),
      resolveDir: root,
    }));
  },
});

/** The entries of the library and of the packages, by what is imported: the path of the source from the root. */
export const { paths: sources } = JSON.parse(
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
export const pastEntries = {
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
export const lazyGrammar = {
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
export const mappedXState = {
  name: 'mapped-xstate',
  setup: ({ onResolve }) =>
    onResolve({ filter: /^xstate$/ }, () => ({ path: '#xstate', external: true })),
};

/** The module that `#xstate` is in Node. */
export async function requiredXState() {
  const names = Object.keys(await import('xstate')).filter((name) => name !== 'default');
  return `import { createRequire } from 'node:module';
export const { ${names.join(', ')} } = createRequire(import.meta.url)('xstate');
`;
}
