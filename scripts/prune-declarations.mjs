/**
 * Declarations that a package needs: tsc writes those of every file of the program, and no entry refers to a good third of them.
 */
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

/** What a declaration imports from its own package, as an import or as a type in place. */
const referred = /\b(?:from|import)\s*\(?\s*['"](\.[^'"]+)['"]/g;

/** @param {string} specifier as `./names.ts` or `./names.js` */
const declarationOf = (specifier) => specifier.replace(/(?<!\.d)\.[jt]s$/, '.d.ts');

/** Shared by our own packages only: users have no need to read it. */
const internal = './internal';
const comments = /^[ \t]*\/\*\*[^]*?\*\/\r?\n/gm;
/** The comment on a whole file, which no editor shows. */
const header = /^\/\*\*(?:(?!\*\/)[^])*\*\/\r?\n(?=\/\*\*|import |export (?:type )?[{*])/;

/**
 * Removes the declarations that no entry of a package leads to, and the comments of modules that no module of a public name imports.
 *
 * @param {string} folder of the package, with a `package.json` that names the entries
 */
export function pruneDeclarations(folder) {
  const types = join(folder, 'dist', 'types');
  /** @type {{ readonly exports: { readonly [entry: string]: string | { readonly types?: string } } }} */
  const { exports: entries } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const reachable = () => {
    const waiting = Object.values(entries).flatMap((entry) =>
      typeof entry === 'object' && entry.types !== undefined ? [resolve(folder, entry.types)] : [],
    );
    /** @type {Set<string>} */
    const needed = new Set();
    for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
      if (needed.has(file)) continue;
      needed.add(file);
      for (const [, specifier = ''] of readFileSync(file, 'utf8').matchAll(referred)) {
        waiting.push(resolve(dirname(file), declarationOf(specifier)));
      }
    }
    return needed;
  };
  const needed = reachable();
  /** @param {string} file */
  const importsOf = (file) =>
    [...readFileSync(file, 'utf8').matchAll(referred)].map(([, specifier = '']) =>
      resolve(dirname(file), declarationOf(specifier)),
    );
  const publicEntries = Object.entries(entries).flatMap(([name, entry]) =>
    name === internal || typeof entry !== 'object' || entry.types === undefined
      ? []
      : [resolve(folder, entry.types)],
  );
  const exporting = publicEntries.flatMap(importsOf);
  /** For the root entry, which is first, the types of members too: editors show the comments of options without a public name. */
  const members = publicEntries.slice(0, 1).flatMap(importsOf).flatMap(importsOf);
  const read = new Set([...publicEntries, ...exporting, ...members]);
  for (const name of readdirSync(types, { recursive: true, encoding: 'utf8' })) {
    const path = join(types, name);
    if (!name.endsWith('.d.ts')) continue;
    const unseen = read.has(path) ? header : comments;
    if (needed.has(path)) writeFileSync(path, readFileSync(path, 'utf8').replace(unseen, ''));
    else rmSync(path);
  }
}
