import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  circlesIn,
  faultOf,
  groupOf,
  groups,
  importsIn,
  importsOfLibrary,
  importsOfSource,
  isBelow,
  layers,
  libraryPackages,
  packageLayers,
  sourcesOf,
} from './layers.ts';
import type { Import } from './layers.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));

const ranges = z.record(z.string(), z.string()).default({});
const manifestShape = z.object({
  name: z.string().default(''),
  version: z.string().default(''),
  bin: z.record(z.string(), z.string()).optional(),
  dependencies: ranges,
  devDependencies: ranges,
  peerDependencies: ranges,
});
const libraryManifest = manifestShape.parse(
  JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')),
);

const file = (from: string, to: string): Import => ({ from, to, isFile: true });
const module = (from: string, to: string): Import => ({ from, to, isFile: false });

describe.each([
  { what: 'the library', table: layers, imports: importsOfLibrary() },
  ...Object.entries(packageLayers).map(([name, table]) => ({
    what: `packages/${name}`,
    table,
    imports: importsOfSource(`packages/${name}/src`),
  })),
])('layers of $what', ({ table, imports }) => {
  it('are respected by every import', () => {
    expect(imports.map((each) => faultOf(each, table)).filter(Boolean)).toEqual([]);
  });

  it('have no import cycles', () => {
    expect(circlesIn(imports)).toEqual([]);
  });

  it('refer only to earlier layers', () => {
    const names = Object.keys(table);
    const upward = Object.entries(table).flatMap(([name, { imports: below }]) =>
      below.filter((other) => {
        const at = names.indexOf(other);
        return at === -1 || at >= names.indexOf(name);
      }),
    );
    expect(upward).toEqual([]);
  });

  it('are all used', () => {
    const unused = Object.keys(table).filter(
      (path) => !imports.some(({ from }) => isBelow(from, path)),
    );
    expect(unused).toEqual([]);
  });
});

describe('layers of the library', () => {
  it('form groups that import only themselves and earlier groups', () => {
    const names = Object.keys(groups);
    const heightOf = (path: string) => names.indexOf(groupOf(path) ?? '');
    expect(Object.keys(layers).filter((path) => heightOf(path) === -1)).toEqual([]);
    const first = new Set(Object.keys(layers).map((path) => path.split('/')[0] ?? ''));
    expect(
      Object.values(groups)
        .flatMap(({ of }) => of)
        .filter((path) => !first.has(path)),
    ).toEqual([]);
    const upward = Object.entries(layers).flatMap(([path, { imports: below }]) =>
      below
        .filter((other) => heightOf(other) > heightOf(path))
        .map((other) => `${path} imports ${other}`),
    );
    expect(upward).toEqual([]);
  });
});

describe('workspace packages', () => {
  const all = readdirSync(join(root, 'packages'));
  /** The library is built from the others. */
  const folders = all.filter((name) => !libraryPackages.some((each) => each === name));
  const importsOf = (folder: string): Import[] => importsOfSource(`packages/${folder}/src`);

  it('of the library exist on disk', () => {
    expect(libraryPackages.filter((name) => !all.includes(name))).toEqual([]);
  });

  it.each(libraryPackages)('%s declares exactly its imports in its manifest', (name) => {
    const text = readFileSync(join(root, 'packages', name, 'package.json'), 'utf8');
    const { dependencies, peerDependencies } = manifestShape.parse(JSON.parse(text));
    const used = importsOfLibrary()
      .filter(({ from, to }) => isBelow(from, name) && !to.startsWith('node:'))
      .map(({ to, isFile }) => {
        if (!isFile) return to.split('/', to.startsWith('@') ? 2 : 1).join('/');
        const [first = ''] = to.split('/');
        return libraryPackages.some((each) => each === first)
          ? `@mcp-actors/${first}`
          : 'mcp-actors';
      })
      .filter((each) => each !== `@mcp-actors/${name}`);
    expect(Object.keys({ ...dependencies, ...peerDependencies }).sort()).toEqual(
      [...new Set(used)].sort(),
    );
  });

  it.each(libraryPackages)('%s imports only earlier packages', (name) => {
    const before = ['mcp-actors', ...libraryPackages.slice(0, libraryPackages.indexOf(name))];
    const text = readFileSync(join(root, 'packages', name, 'package.json'), 'utf8');
    const { dependencies } = manifestShape.parse(JSON.parse(text));
    const ours = Object.keys(dependencies)
      .filter((each) => each === 'mcp-actors' || each.startsWith('@mcp-actors/'))
      .map((each) => each.replace('@mcp-actors/', ''));
    expect(ours.filter((each) => !before.includes(each))).toEqual([]);
  });

  it('are all listed in the table', () => {
    expect(Object.keys(packageLayers).sort()).toEqual(folders.sort());
  });

  const manifests = new Map(
    folders.map((folder) => {
      const text = readFileSync(join(root, 'packages', folder, 'package.json'), 'utf8');
      const manifest = manifestShape.parse(JSON.parse(text));
      return [manifest.name, manifest];
    }),
  );

  it.each(folders)('%s imports exactly the dependencies of its manifest', (folder) => {
    const { bin, dependencies, devDependencies, peerDependencies } =
      manifests.get(`@mcp-actors/${folder}`) ?? manifestShape.parse({});
    const used = importsOf(folder)
      .filter(({ to, isFile }) => !isFile && !to.startsWith('node:') && !to.startsWith('#'))
      .map(({ to }) => to.split('/', to.startsWith('@') ? 2 : 1).join('/'));
    const given = { ...dependencies, ...peerDependencies };
    // A page contains what it is built with. A command bundles what it imports, but for what stays outside; its user installs that, and what
    // is bundled cannot do without.
    const outside = Object.entries(given).filter(([name]) => used.includes(name));
    const installed = bin === undefined ? given : Object.fromEntries(outside);
    const named = { ...installed, ...devDependencies };
    expect(Object.keys(named).sort()).toEqual([...new Set(used)].sort());
    if (bin === undefined) return;
    const ofBundled = [libraryManifest, ...manifests.values()]
      .filter(({ name }) => name in devDependencies)
      .flatMap((each) => Object.entries({ ...each.dependencies, ...each.peerDependencies }));
    const others = Object.entries(given).filter(
      ([name, range]) =>
        !(name in installed) &&
        !ofBundled.some(([other, same]) => other === name && same === range),
    );
    expect(others).toEqual([]);
  });

  it("have the library's version and require exactly that version", () => {
    const { version } = libraryManifest;
    const asked = [libraryManifest, ...manifests.values()]
      .flatMap(({ name, ...each }) => [
        [name, each.version],
        ...Object.entries({ ...each.dependencies, ...each.devDependencies }),
      ])
      .filter(([name = '']) => name === 'mcp-actors' || name.startsWith('@mcp-actors/'))
      // The library's link to itself.
      .filter(([, range]) => range !== 'file:.');
    expect(asked.length).toBeGreaterThan(folders.length);
    expect(asked.filter(([, range]) => range !== version)).toEqual([]);
  });

  /**
   * Each name ties a package to the library's inside. Before a name comes that would be one more, ask
   * whether a user of the library has a use for it: then it is public. Whether only one package needs
   * it and nothing in src: then it belongs there. Never raise this.
   */
  const mostInternalNames = 53;

  it('use every export of mcp-actors/internal, which stays small', () => {
    const namesIn = (source: string, pattern: RegExp): string[] =>
      [...source.matchAll(pattern)].flatMap(([, names, whole = '']) =>
        (names ?? whole).split(',').flatMap((name) => name.trim().split(' as ')[0] || []),
      );
    const given = namesIn(
      readFileSync(join(root, 'src/internal.ts'), 'utf8'),
      /^export (?:type )?(?:\{([^}]*)\}|\* as (\w+)) from/gm,
    );
    expect(given.length).toBeLessThanOrEqual(mostInternalNames);
    const used = folders
      .flatMap((folder) => sourcesOf(`packages/${folder}/src`))
      .flatMap((source) =>
        namesIn(source, /^(?:im|ex)port (?:type )?\{([^}]*)\} from 'mcp-actors\/internal'/gm),
      );
    expect(given.filter((name) => !used.includes(name))).toEqual([]);
  });
});

describe('code around handlers', () => {
  const around = /^(?:server\/features|server\/context|schema\/forms)\//;
  /** The exchange alone stands between it and the wire; the rest is data. */
  const known = [
    'actors/request-context.ts',
    'actors/clock.ts',
    'actors/facts.ts',
    'actors/limits.ts',
    'actors/lazy-module.ts',
    'actors/memory-budget.ts',
    'actors/transitions.ts',
    'machines/session-state.ts',
  ];

  it('does not import calls, correlation, ports or the roots machine', () => {
    const below = importsOfLibrary().filter(
      ({ from, to }) =>
        around.test(from) && /^(?:actors|machines|tasks\/[\w-]+\.machine)\b/.test(to),
    );
    expect(below.length).toBeGreaterThan(10);
    const others = below.filter(({ to }) => !known.includes(to));
    // A task is an actor of its own: the feature that keeps tasks starts their machines.
    const machines = ['machines/subscription.machine.ts', 'tasks/task.machine.ts'];
    const isOwn = ({ to }: Import) => machines.includes(to);
    expect(others.filter((each) => !isOwn(each))).toEqual([]);
  });
});

describe('the import parser', () => {
  it('finds value, type, dynamic and multi-line imports and re-exports', () => {
    const source = [
      "import { a } from './a.ts';",
      "import type { B } from '../b.ts';",
      "import './c.ts';",
      "export { d } from './d.ts';",
      "export type * from './e.ts';",
      'import {\n  f,\n  type G,\n} from "./no.ts";'.replaceAll('"', "'"),
      "const late = async () => (await import('./h.ts')).h;",
      "const text = 'not from here';",
    ].join('\n');
    expect(importsIn('x/y.ts', source).map(({ to }) => to)).toEqual([
      'x/a.ts',
      'b.ts',
      'x/c.ts',
      'x/d.ts',
      'x/e.ts',
      'x/no.ts',
      'x/h.ts',
    ]);
  });

  it.each([
    file('protocol/a.ts', 'machines/b.ts'),
    file('actors/a.ts', 'server/b.ts'),
    file('http/a.ts', 'serve/b.ts'),
    file('server/a.ts', 'index.ts'),
    file('roots/a.ts', 'internal.ts'),
    file('roots/disk/a.ts', 'roots/b.ts'),
    file('roots/a.ts', '../packages/workspace-server/src/index.ts'),
    file('client/a.ts', 'testing/index.ts'),
    file('nowhere/a.ts', 'protocol/b.ts'),
    module('protocol/a.ts', 'xstate'),
    module('machines/a.ts', 'rxjs'),
    module('server/session/session-scope.ts', 'node:fs/promises'),
    module('index.ts', 'node:fs'),
    module('opentelemetry/a.ts', '@opentelemetry/core'),
    module('server/a.ts', 'mcp-actors'),
  ])('rejects a forbidden import: $from imports $to', (each) => {
    expect(faultOf(each)).toContain(each.from);
  });

  it.each([
    file('protocol/a.ts', 'protocol/b.ts'),
    file('testing/a.ts', 'recording/b.ts'),
    module('actors/reader.actor.ts', 'rxjs'),
    module('machines/a.ts', 'xstate/graph'),
    module('roots/a.ts', 'node:fs'),
  ])('accepts an allowed import: $from imports $to', (each) => {
    expect(faultOf(each)).toBeUndefined();
  });

  it('rejects imports of a package by the library or other packages', () => {
    const table = packageLayers['workspace-server'];
    const inside = (to: string) => faultOf(file('tools/a.ts', to), table);
    expect(inside('search/b.ts')).toBeUndefined();
    expect(inside('../../../src/actors/clock.ts')).toContain('tools/a.ts');
    expect(inside('../../checker/src/index.ts')).toContain('tools/a.ts');
    const alone = (to: string) => faultOf(file('http/a.ts', to), packageLayers['checker']);
    expect(alone('invariants/b.ts')).toBeUndefined();
    expect(alone('../../src/actors/clock.ts')).toContain('http/a.ts');
  });

  it('finds cycles, including those through dynamic imports', () => {
    const ring = [file('a.ts', 'b.ts'), file('b.ts', 'c.ts'), file('c.ts', 'a.ts')];
    expect(circlesIn(ring)).toEqual(['a.ts -> b.ts -> c.ts -> a.ts']);
    expect(circlesIn(ring.slice(1))).toEqual([]);
  });
});
