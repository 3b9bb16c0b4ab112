import { describe, expect, it } from 'vitest';
import { circlesIn, faultOf, importsIn, importsOfSource, layers } from './layers.ts';
import type { Import } from './layers.ts';

const file = (from: string, to: string): Import => ({ from, to, isFile: true });
const module = (from: string, to: string): Import => ({ from, to, isFile: false });

describe('the layers of src/', () => {
  const imports = importsOfSource();

  it('are held by every import', () => {
    expect(imports.map((each) => faultOf(each)).filter(Boolean)).toEqual([]);
  });

  it('have no files that import each other in a circle', () => {
    expect(circlesIn(imports)).toEqual([]);
  });

  it('stand on each other: a layer names only layers that are listed before it', () => {
    const names = Object.keys(layers);
    const upward = Object.entries(layers).flatMap(([name, { imports: below }]) =>
      below.filter((other) => {
        const at = names.indexOf(other);
        return at === -1 || at >= names.indexOf(name);
      }),
    );
    expect(upward).toEqual([]);
  });

  it('are each in use', () => {
    const used = new Set(imports.flatMap(({ from }) => [from, from.split('/')[0]]));
    const unused = Object.keys(layers).filter(
      (path) => !used.has(path) && !imports.some(({ from }) => from.startsWith(`${path}/`)),
    );
    expect(unused).toEqual([]);
  });
});

describe('what stands around a handler', () => {
  const around = /^(?:features|context|schema\/forms)\//;
  /** The exchange alone stands between it and the wire; the rest is data. */
  const known = [
    'actors/exchange.ts',
    'actors/clock.ts',
    'actors/facts.ts',
    'actors/limits.ts',
    'actors/router/refusals.ts',
    'actors/room.ts',
    'actors/transitions.ts',
    'machines/roots-report.ts',
    'machines/session-state.ts',
  ];

  it('knows no call, no correlation, no port and no roots machine', () => {
    const below = importsOfSource().filter(
      ({ from, to }) => around.test(from) && /^(?:actors|machines)\//.test(to),
    );
    expect(below.length).toBeGreaterThan(10);
    const others = below.filter(({ to }) => !known.includes(to));
    // A task is an actor of its own: the feature that keeps tasks starts their machines.
    const machines = ['machines/subscription.machine.ts', 'machines/task.machine.ts'];
    const isOwn = ({ to }: Import) => machines.includes(to);
    expect(others.filter((each) => !isOwn(each))).toEqual([]);
  });
});

describe('the reader of imports', () => {
  it('sees values, types, re-exports, dynamic imports and those over several lines', () => {
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
    file('check/a.ts', 'server/b.ts'),
    file('server/a.ts', 'index.ts'),
    file('workspace/a.ts', 'cli.ts'),
    file('workspace/roots/a.ts', 'workspace/search/b.ts'),
    file('workspace/tools/a.ts', 'workspace/b.ts'),
    file('cli/a.ts', 'testing/index.ts'),
    file('nowhere/a.ts', 'protocol/b.ts'),
    module('protocol/a.ts', 'xstate'),
    module('machines/a.ts', 'rxjs'),
    module('session/session-scope.ts', 'node:fs/promises'),
    module('index.ts', 'node:fs'),
    module('opentelemetry/a.ts', '@opentelemetry/core'),
    module('server/a.ts', 'mcp-actors'),
  ])('refuses what a layer does not allow: $from imports $to', (each) => {
    expect(faultOf(each)).toContain(each.from);
  });

  it.each([
    file('protocol/a.ts', 'protocol/b.ts'),
    file('cli/a.ts', 'workspace/b.ts'),
    module('actors/reader.actor.ts', 'rxjs'),
    module('check/a.ts', 'xstate/graph'),
    module('workspace/tools/a.ts', 'node:fs'),
  ])('lets through what a layer allows: $from imports $to', (each) => {
    expect(faultOf(each)).toBeUndefined();
  });

  it('finds a circle, through dynamic imports as through any', () => {
    const ring = [file('a.ts', 'b.ts'), file('b.ts', 'c.ts'), file('c.ts', 'a.ts')];
    expect(circlesIn(ring)).toEqual(['a.ts -> b.ts -> c.ts -> a.ts']);
    expect(circlesIn(ring.slice(1))).toEqual([]);
  });
});
