/** The package's public entries and the names that they export, read from their sources. `mcp-actors/internal` promises nothing. */
import { readFileSync } from 'node:fs';

const read = (path: string): string =>
  readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');

const manifest = JSON.parse(read('package.json')) as {
  readonly exports: { readonly [entry: string]: string | { readonly default: string } };
};
const { compilerOptions } = JSON.parse(read('tsconfig.json')) as {
  readonly compilerOptions: { readonly paths: { readonly [specifier: string]: readonly string[] } };
};

export interface Entry {
  /** What is imported: `mcp-actors/testing`. */
  readonly specifier: string;
  /** From the repository's root. */
  readonly source: string;
  readonly values: readonly string[];
  readonly types: readonly string[];
}

/** An entry has nothing but `export { … } from` and `export type { … } from`. */
function entryOf(name: string): Entry {
  const specifier = name.replace(/^\./, 'mcp-actors');
  const source = compilerOptions.paths[specifier]?.[0]?.replace(/^\.\//, '') ?? '';
  const values: string[] = [];
  const types: string[] = [];
  for (const [, isType, names = ''] of read(source).matchAll(
    /^export (type )?\{([^}]*)\} from /gm,
  )) {
    const list = isType === undefined ? values : types;
    list.push(...names.split(',').flatMap((each) => each.trim().split(' as ').at(-1) || []));
  }
  return {
    specifier,
    source,
    values: values.sort(),
    types: types.sort(),
  };
}

export const entries: readonly Entry[] = Object.entries(manifest.exports).flatMap(
  ([name, target]) => (typeof target === 'string' || name === './internal' ? [] : [entryOf(name)]),
);
