/**
 * Module loader that instruments the start of each function of `src` and the packages. Marks report
 * the entered function to the collector that `lab/way/trail.ts` installs as
 * `globalThis.enterFunction`.
 *
 * `node --import ./lab/way/marks.mjs lab/way/main.ts`
 */
import { readFile } from 'node:fs/promises';
import { register } from 'node:module';
import { fileURLToPath } from 'node:url';
import { isMainThread } from 'node:worker_threads';

const root = new URL('../../', import.meta.url).href;
const sources = /^(src|packages\/[\w-]+\/src)\//;

const functions = new Set(['FunctionDeclaration', 'FunctionExpression', 'ArrowFunctionExpression']);

/**
 * Display name of a function: its own name, or that of the variable it is assigned to.
 * @param {any} node
 * @param {any} parent
 */
function nameOf(node, parent) {
  const named =
    node.id ?? parent?.key ?? (parent?.type === 'VariableDeclarator' ? parent.id : undefined);
  if (named?.type === 'PrivateIdentifier') return `#${named.name}`;
  return named?.name ?? named?.value ?? '(a callback)';
}

/**
 * @param {string} text TypeScript source
 * @param {string} file its path in the repository
 * @returns {Promise<string>} instrumented source
 */
async function withMarks(text, file) {
  const { parseSync } = await import('oxc-parser');
  const { program, errors } = parseSync(file, text);
  if (errors.length > 0) throw new SyntaxError(`${file}: ${errors[0]?.message}`);
  /** @type {{at: number, text: string}[]} */
  const inserted = [];
  const lineEnds = [...text.matchAll(/\n/g)].map(({ index }) => index);
  /** @type {(node: any, parent: any) => void} */
  const visit = (node, parent) => {
    if (functions.has(node.type) && node.body) {
      const line = lineEnds.filter((end) => end < node.start).length + 1;
      const call = `globalThis.enterFunction(${JSON.stringify(file)}, ${JSON.stringify(nameOf(node, parent))}, ${line})`;
      if (node.body.type === 'BlockStatement') {
        inserted.push({ at: node.body.start + 1, text: ` ${call};` });
      } else {
        inserted.push({ at: node.body.start, text: `(${call}, ` });
        inserted.push({ at: node.body.end, text: ')' });
      }
    }
    for (const value of Object.values(node)) {
      for (const child of Array.isArray(value) ? value : [value]) {
        if (typeof child?.type === 'string') visit(child, node);
      }
    }
  };
  visit(program, undefined);
  // Insert from the end, so that earlier offsets stay valid. At equal offsets, the last one found
  // is the innermost.
  inserted.sort((one, other) => other.at - one.at);
  let marked = text;
  for (const { at, text: mark } of inserted) marked = marked.slice(0, at) + mark + marked.slice(at);
  return marked;
}

/** @type {import('node:module').LoadHook} */
export async function load(url, context, nextLoad) {
  const isOurs = url.startsWith(root) && url.endsWith('.ts') && !url.includes('/node_modules/');
  if (!isOurs) return nextLoad(url, context);
  const { transform } = await import('esbuild');
  const text = await readFile(fileURLToPath(url), 'utf8');
  const path = url.slice(root.length);
  const marked = sources.test(path) ? await withMarks(text, path) : text;
  const { code } = await transform(marked, {
    loader: 'ts',
    target: 'node20',
    sourcefile: url,
    define: { __VERSION__: '"0.0.0"' },
  });
  return { format: 'module', source: code, shortCircuit: true };
}

if (isMainThread) register(import.meta.url);
