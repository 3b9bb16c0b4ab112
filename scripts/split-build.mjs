/**
 * esbuild makes a chunk of what the same entries need, however large that is. This builds twice: the second build cuts each file that is larger than
 * `largest` into chunks, along the order in which its modules depend on each other.
 */
import { isBuiltin } from 'node:module';
import { join } from 'node:path';
import { build } from 'esbuild';

/** Of each file that is published, bytes. A tool that looks into a bundle, or compares two, can read such a file. */
const largest = 100_000;

/** What a cut chunk may have of its modules: its imports and exports come on top. */
const largestCut = 94_000;

const namespace = 'cut';

/**
 * As `build` of esbuild, for `splitting`, `metafile` and no `write`.
 * @param {Omit<import('esbuild').BuildOptions, 'entryPoints'> & { entryPoints: { readonly [name: string]: string }, metafile: true, write: false }} options
 */
export async function splitBuild(options) {
  const whole = await build({ ...options, sourcemap: false });
  const cuts = cutsOf(whole.metafile);
  if (cuts.length === 0) return build(options);
  const names = cuts.map((_, index) => `${namespace}-${index}`);
  const cut = await build({
    ...options,
    entryPoints: {
      ...options.entryPoints,
      ...Object.fromEntries(names.map((name) => [name, `${namespace}:${name}`])),
    },
    plugins: [
      cutEntries(new Map(names.map((name, index) => [name, cuts[index]]))),
      ...(options.plugins ?? []),
    ],
  });
  // An entry of a cut has no content: it is there so that esbuild makes chunks of what it needs.
  const isOfCut = (/** @type {string} */ path) =>
    new RegExp(`[\\\\/]${namespace}-\\d+\\.js(\\.map)?$`).test(path);
  return { ...cut, outputFiles: cut.outputFiles.filter(({ path }) => !isOfCut(path)) };
}

/**
 * Entries that import these modules and nothing else. No other module imports them, so what one of them needs and another one does not comes to lie in
 * a chunk of its own.
 * @param {ReadonlyMap<string, readonly string[]>} cuts the paths of their modules
 * @returns {import('esbuild').Plugin}
 */
const cutEntries = (cuts) => ({
  name: namespace,
  setup({ onLoad, onResolve, resolve, initialOptions }) {
    const { absWorkingDir: root = process.cwd() } = initialOptions;
    const all = new Set([...cuts.values()].flat().map((path) => join(root, path)));
    onResolve({ filter: new RegExp(`^${namespace}:`) }, ({ path }) => ({
      path: path.slice(namespace.length + 1),
      namespace,
    }));
    onLoad({ filter: /^/, namespace }, ({ path }) => ({
      contents: (cuts.get(path) ?? []).map((each) => `import './${each}';`).join('\n'),
      resolveDir: root,
    }));
    // An import without a name is left out, unless the module has an effect: and whether it has is asked once, of the first import of it.
    onResolve({ filter: /^/ }, async ({ path, pluginData = [], ...others }) => {
      if (pluginData.includes(namespace) || isBuiltin(path)) return undefined;
      // Most imports name their file: esbuild need not be asked.
      const named = join(others.resolveDir, path);
      if (path.startsWith('.') && all.has(named)) return { path: named, sideEffects: true };
      if (/^\..*\.tsx?$/.test(path)) return undefined;
      const asked = [...pluginData, namespace];
      const found = await resolve(path, { ...others, pluginData: asked });
      return found.namespace === 'file' && all.has(found.path)
        ? { path: found.path, sideEffects: true }
        : undefined;
    });
  },
});

/**
 * The modules of each cut, as paths from the root.
 * @param {import('esbuild').Metafile} metafile
 */
function cutsOf({ inputs, outputs }) {
  return Object.entries(outputs)
    .filter(([path, { bytes }]) => path.endsWith('.js') && bytes > largest)
    .flatMap(([path]) => {
      const below = [...reachedFrom(path, (each) => linksOf(outputs[each]))]
        .filter((each) => each !== path)
        .flatMap((each) => Object.keys(outputs[each]?.inputs ?? {}));
      const own = outputs[path]?.inputs ?? {};
      const cuts = [];
      const before = [];
      let size = 0;
      for (const ring of ringsOf(Object.keys(own), (each) => linksOf(inputs[each]))) {
        const members = ring.filter((each) => each in own);
        const more = members.reduce((sum, each) => sum + (own[each]?.bytesInOutput ?? 0), 0);
        if (size > 0 && size + more > largestCut) {
          cuts.push([...below, ...before]);
          size = 0;
        }
        size += more;
        before.push(...members);
      }
      return cuts;
    })
    .map((names) => names.filter((name) => !/^[\w-]+:/.test(name)));
}

/** @param {{ readonly imports: readonly { readonly path: string, readonly kind: string, readonly external?: boolean }[] } | undefined} of */
const linksOf = (of) =>
  (of?.imports ?? [])
    .filter(({ kind, external }) => kind !== 'dynamic-import' && !external)
    .map(({ path }) => path);

/**
 * @param {string} start
 * @param {(path: string) => readonly string[]} next
 */
function reachedFrom(start, next) {
  const reached = new Set([start]);
  for (const path of reached) for (const each of next(path)) reached.add(each);
  return reached;
}

/**
 * Modules that import each other in a ring, and single ones, each after what it imports (Tarjan's algorithm).
 * @param {readonly string[]} starts
 * @param {(path: string) => readonly string[]} next
 */
function ringsOf(starts, next) {
  /** @type {string[][]} */
  const rings = [];
  /** @type {string[]} */
  const open = [];
  /** @type {Map<string, number>} */
  const lowest = new Map();
  const visit = (/** @type {string} */ path) => {
    const known = lowest.get(path);
    if (known !== undefined) return known;
    const own = lowest.size;
    lowest.set(path, own);
    open.push(path);
    const low = Math.min(own, ...next(path).map(visit));
    lowest.set(path, low);
    if (low < own) return low;
    const ring = open.splice(open.indexOf(path));
    for (const each of ring) lowest.set(each, Number.POSITIVE_INFINITY);
    rings.push(ring);
    return Number.POSITIVE_INFINITY;
  };
  for (const path of starts) visit(path);
  return rings;
}
