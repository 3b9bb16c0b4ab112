/**
 * Compiles code that no test runs, inline or in marked blocks: its functions and options must
 * exist.
 */
import { execFile } from 'node:child_process';
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { parseSync } from 'oxc-parser';
import { workspaceServer } from '@mcp-actors/workspace-server';
import { expect, test } from 'vitest';
import { entries } from '../tooling/entries.ts';
import { blocksOf, inlineCode, pages, repository } from './pages.ts';

interface Snippet {
  /** Location: `docs/errors.md:33`, or the page and the code. */
  readonly at: string;
  readonly code: string;
}

/** Modules of the public functions, by name. */
const specifiers = new Map(
  entries.flatMap(({ specifier, values }) => values.map((name) => [name, specifier] as const)),
);

/** Pages about the current version. */
const isOfNow = (page: string) => !/CHANGELOG/.test(page);

/** A call of a public function. Without arguments it is only a mention. */
const calls = (code: string): boolean =>
  [...code.matchAll(/(?<![.\w#])([A-Za-z]\w*)\((?!\))/g)].some(([, name = '']) =>
    specifiers.has(name),
  );

const snippets: readonly Snippet[] = pages.filter(isOfNow).flatMap((page) => [
  ...[...new Set(inlineCode(page))].filter(calls).map((code) => ({ at: `${page}: ${code}`, code })),
  ...blocksOf(page)
    .filter(({ language, marker }) => /^[jt]s$/.test(language) && marker.startsWith('not run'))
    .map(({ at, text }) => ({ at, code: text })),
]);

/**
 * Ellipses converted to code, and optional arguments to given ones: `f({ … })`, `f(message, { code?
 * })`.
 */
const spelledOut = (code: string): string =>
  code
    .replaceAll(/(?<=[{,]\s*)(?:…|\.\.\.)(?=\s*[,}])/g, '...anything')
    .replaceAll(/(?<=[(,:=]\s*)(?:…|\.\.\.)(?=\s*[,;)\n]|$)/gm, 'anything')
    .replaceAll(/(\w)\?(?=\s*[),}])/g, '$1')
    .replace(/^(\w*Error\()/, 'new $1');

/** Replacements for standalone values, members of objects and items of arrays. */
const forms: readonly ((code: string) => string)[] = [
  (code) => code,
  (code) => `({\n${code}\n});`,
  (code) => `[\n${code}\n];`,
];

const keywords =
  /^(?:await|async|const|let|if|new|throw|return|true|false|undefined|null|import|from|export|default|of|for|in|as|type|function|typeof|class|extends)$/;

/** The snippet as a module: public names are imported, others have type any. */
function moduleOf({ at, code }: Snippet): string {
  const spelled = spelledOut(code);
  const form = forms.find((each) => parseSync('a.ts', each(spelled)).errors.length === 0);
  if (!form) throw new Error(`${at} cannot be parsed: ${spelled}`);
  const text = form(spelled);
  const declared = new Set(
    [
      ...text.matchAll(
        /\b(?:import|using|const|let|function|class)\s+(?:type\s+)?([\w$]+|\{[^}]*\}|\[[^\]]*\])/g,
      ),
    ].flatMap(([, names = '']) => names.match(/[\w$]+/g) ?? []),
  );
  const bare = text.replaceAll(/'[^'\n]*'|`[^`]*`|\/\/.*$|\/\*[^]*?\*\//gm, "''");
  const words = new Set(bare.match(/(?<![\w$.#]|\.\s)[A-Za-z_$][\w$]*/g));
  const free = [...words].filter(
    (word) => word !== 'anything' && !declared.has(word) && !keywords.test(word),
  );
  const isGlobal = (word: string) => word in globalThis;
  const imports = free
    .filter((word) => specifiers.has(word))
    .map((word) => `import { ${word} } from '${specifiers.get(word)}';`);
  const others = free
    .filter((word) => !specifiers.has(word) && !isGlobal(word))
    .map((word) => `declare const ${word}: any; type ${word} = any;`);
  return ['declare const anything: any;', ...imports, ...others, text, 'export {};', ''].join('\n');
}

/** Compiler errors by snippet. */
async function faultsOf(all: readonly Snippet[]): Promise<readonly string[]> {
  const folder = await mkdtemp(join(tmpdir(), 'snippets-'));
  try {
    await symlink(join(repository, 'node_modules'), join(folder, 'node_modules'), 'junction');
    const names = all.map((_, at) => `snippet-${at}.mts`);
    for (const [at, snippet] of all.entries()) {
      await writeFile(join(folder, names[at] ?? ''), moduleOf(snippet));
    }
    const compilerOptions = {
      noEmit: true,
      noImplicitAny: false,
      noUnusedLocals: false,
      noUnusedParameters: false,
      typeRoots: [join(repository, 'node_modules', '@types')],
    };
    const config = {
      extends: join(repository, 'tsconfig.json'),
      compilerOptions,
      files: names,
      include: [],
    };
    await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(config));
    const tsc = join(repository, 'node_modules', 'typescript', 'bin', 'tsc');
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [tsc, '--checkers', '1', '--pretty', 'false', '-p', folder],
      { cwd: folder, maxBuffer: 2 ** 26 },
    ).catch((failure: { readonly stdout: string }) => failure);
    return stdout
      .split('\n')
      .filter((line) => /^\S.*error TS/.test(line))
      .map((line) => line.replace(/^snippet-(\d+)\.mts/, (_, at) => `${all[Number(at)]?.at} `));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

test('compiles the functions and options named on pages', async () => {
  expect(snippets.length).toBeGreaterThan(50);
  expect(await faultsOf(snippets)).toEqual([]);
});

test('reports a wrong function, option or number of arguments', async () => {
  const codes = [
    "testClient({ url: 'https://…/mcp' })",
    'skillsFrom(directory, { onProblm })',
    'serve()',
    "import { mislaid } from 'mcp-actors';",
  ];
  const faults = await faultsOf(codes.map((code) => ({ at: code, code })));
  expect(codes.filter((code) => !faults.some((fault) => fault.startsWith(code)))).toEqual([]);
});

test("checks the arguments of the workspace server's tool calls", () => {
  const { tools = [] } = workspaceServer({ cwd: '/', home: '/nobody', version: '1' }).definition;
  const schemas = new Map(
    tools.map(({ name, inputSchema }) => [
      name,
      Object.keys((inputSchema as { readonly properties?: object })?.properties ?? {}),
    ]),
  );
  const lines = pages
    .filter(isOfNow)
    .flatMap((page) =>
      [...inlineCode(page), ...blocksOf(page).flatMap(({ text }) => text.split('\n'))].map(
        (line) => [page, line] as const,
      ),
    )
    .filter(([, line]) => /(?:mcp-actors|@mcp-actors\/cli) call /.test(line));
  const lost = lines.flatMap(([page, line]) => {
    const [call = ''] = line.split(' -- ');
    const name = [...schemas.keys()].find((each) => call.includes(` ${each}`));
    if (name === undefined) return [];
    const given = [...call.slice(call.indexOf(name)).matchAll(/[ '"](\w+)=/g)].map(
      ([, key = '']) => key,
    );
    return given
      .filter((key) => !schemas.get(name)?.includes(key))
      .map((key) => `${page}: ${name} ${key}`);
  });
  expect(lines.length).toBeGreaterThan(5);
  expect(lost).toEqual([]);
});
