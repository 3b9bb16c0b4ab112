import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { RootsReport } from 'mcp-actors';
import { chooseProject } from '../src/project/project.ts';
import type { InspectedDirectory, ProjectChoice, SourceReadings } from '../src/project/project.ts';
import {
  fallbackNote,
  explainChoice,
  noProjectMessage,
  explainNoProject,
} from '../src/project/project-notes.ts';
import { reportOf, undeclared } from '../../roots/test/fake-context.ts';

const good = (path: string): InspectedDirectory => ({
  given: path,
  check: { ok: true, path, identity: path },
});
const missing = (given: string): InspectedDirectory => ({
  given,
  check: { ok: false, code: 'NOT_FOUND', message: `"${given}" does not exist` },
});
const rootAt = (path: string) => ({ uri: `file://${path}`, path, identity: path });
const unusableRoot = {
  uri: 'file:///gone',
  problem: { code: 'NOT_FOUND', message: '"/gone" does not exist' },
} as const;

function choose(readings: Partial<SourceReadings>): ProjectChoice {
  return chooseProject({
    directories: [],
    followRoots: false,
    report: undeclared,
    cwd: good('/cwd'),
    home: '/home/me',
    ...readings,
  });
}

const paths = ({ usable }: ProjectChoice) => usable.map(({ path }) => path);
const reasonOf = ({ skipped }: ProjectChoice, source: string) =>
  skipped.find((skip) => skip.source === source)?.reason;

describe('source precedence', () => {
  test('prefers roots over the environment, and that over the working directory', () => {
    const env = good('/env');
    const report = reportOf([rootAt('/a'), rootAt('/b')]);
    expect(choose({ report, env })).toMatchObject({ source: 'roots' });
    expect(paths(choose({ report, env }))).toEqual(['/a', '/b']);
    expect(choose({ env })).toMatchObject({ source: 'env' });
    expect(choose({})).toMatchObject({ source: 'cwd' });
  });

  test('allows only roots and the project_path of the URL if there is one', () => {
    const query = good('/asked');
    const env = good('/env');
    expect(choose({ query, env })).toMatchObject({ source: 'query' });
    expect(choose({ query, env, report: reportOf([rootAt('/a')]) })).toMatchObject({
      source: 'roots',
    });
    const refused = choose({ query: missing('/gone'), env });
    expect(refused.source).toBeUndefined();
    expect(noProjectMessage(refused)).toContain('project_path is not used: "/gone" does not exist');
    const outside = choose({ query, directories: [good('/given')], followRoots: true });
    expect(noProjectMessage(outside)).toContain('"/asked" is outside the directories given');
    const inside = choose({ query: good('/given/a'), directories: [good('/given')] });
    expect(inside.usable).toMatchObject([{ path: '/given/a', within: { path: '/given' } }]);
    expect(fallbackNote(inside)).toBeUndefined();
  });

  const cases = {
    directories: fc.constantFrom(
      [],
      [good('/given')],
      [missing('/given')],
      [missing('/x'), good('/given')],
    ),
    followRoots: fc.boolean(),
    report: fc.constantFrom<RootsReport>(
      undeclared,
      reportOf([]),
      reportOf([unusableRoot]),
      reportOf([unusableRoot, rootAt('/given/inner')]),
      reportOf([rootAt('/elsewhere')]),
      reportOf([], { status: 'unsupported', problem: 'Method not found' }),
      reportOf([], { status: 'failed', problem: 'the client did not answer within 5000 ms' }),
      reportOf([rootAt('/given/inner')], { status: 'failed', problem: 'timed out' }),
      reportOf([], { settled: false }),
    ),
    query: fc.constantFrom(undefined, good('/given/asked'), good('/asked'), missing('/given/gone')),
    env: fc.constantFrom(undefined, good('/env'), missing('/env'), good('/'), good('/home/me')),
    cwd: fc.constantFrom(good('/cwd'), good('/'), good('/home/me'), missing('/cwd')),
  };

  test('picks the first usable source for every combination, with a reason for each other', () => {
    fc.assert(
      fc.property(fc.record(cases), ({ env, query, ...rest }) => {
        const readings = {
          ...rest,
          ...(query === undefined ? {} : { query }),
          ...(env === undefined ? {} : { env }),
        };
        const choice = choose(readings);
        const given = rest.directories.filter(({ check }) => check.ok).length > 0;
        const roots = rest.report.roots.flatMap(({ path }) => (path === undefined ? [] : [path]));
        const isCeiling = rest.directories.length > 0 && !rest.followRoots;
        const usableRoots = isCeiling
          ? roots.filter((path) => given && path.startsWith('/given/'))
          : roots;
        const isNarrow = (reading: InspectedDirectory | undefined) =>
          reading?.check.ok === true && !['/', '/home/me'].includes(reading.check.path);
        const expected =
          usableRoots.length > 0
            ? 'roots'
            : query !== undefined
              ? query.check.ok &&
                (rest.directories.length === 0 || (given && query.given.startsWith('/given/')))
                ? 'query'
                : undefined
              : rest.directories.length > 0
                ? given
                  ? 'argument'
                  : undefined
                : isNarrow(env)
                  ? 'env'
                  : isNarrow(rest.cwd) && rest.report.roots.length === 0
                    ? 'cwd'
                    : undefined;
        expect(choice.source).toBe(expected);
        expect(choice.usable.length > 0).toBe(expected !== undefined);
        expect(choice.usable.every(({ source }) => source === expected)).toBe(true);
        expect(choice.skipped.map(({ source }) => source)).toEqual(
          ['argument', 'roots', ...(query ? ['query'] : []), 'env', 'cwd'].filter(
            (source) => source !== expected,
          ),
        );
        expect(choice.skipped.every(({ reason }) => reason.length > 0)).toBe(true);
        expect((expected === undefined ? explainNoProject : explainChoice)(choice)).toMatch(/\w/);
        expect(choice.warnings.some((warning) => warning.includes('MCP_PROJECT_PATH'))).toBe(
          env !== undefined && !isNarrow(env),
        );
      }),
      { numRuns: 2000 },
    );
  });
});

describe('directories on the command line', () => {
  const directories = [good('/work/one'), good('/work/two')];

  test('narrows a command line directory to a root inside it', () => {
    const choice = choose({ directories, report: reportOf([rootAt('/work/two/package')]) });
    expect(paths(choice)).toEqual(['/work/two/package']);
    expect(choice.source).toBe('roots');
  });

  test('rejects roots outside the command line directories, including wider ones and ones with the same prefix', () => {
    for (const path of ['/elsewhere', '/work', '/work/onesie']) {
      const choice = choose({ directories, report: reportOf([rootAt(path)]) });
      expect(paths(choice)).toEqual(['/work/one', '/work/two']);
      expect(choice.source).toBe('argument');
      expect(choice.roots[0]?.problem).toMatchObject({ code: 'OUTSIDE_DIRECTORIES' });
      expect(choice.roots[0]?.problem?.message).toContain('/work/one');
      expect(fallbackNote(choice)).toContain(path);
    }
  });

  test('replaces command line directories by the roots with followRoots', () => {
    const report = reportOf([rootAt('/elsewhere')]);
    expect(paths(choose({ directories, followRoots: true, report }))).toEqual(['/elsewhere']);
    expect(paths(choose({ directories, followRoots: true }))).toEqual(['/work/one', '/work/two']);
  });

  test('accepts the root of the file system and the home directory on the command line', () => {
    expect(paths(choose({ directories: [good('/')] }))).toEqual(['/']);
    expect(paths(choose({ directories: [good('/home/me')] }))).toEqual(['/home/me']);
  });

  test('uses nothing wider if no command line directory exists', () => {
    const choice = choose({
      directories: [missing('/gone')],
      env: good('/env'),
      report: reportOf([rootAt('/a')]),
    });
    expect(choice.source).toBeUndefined();
    expect(explainNoProject(choice)).toContain('/gone');
  });

  test('deduplicates command line directories', () => {
    const given = [good('/b'), good('/a'), good('/b')];
    expect(paths(choose({ directories: given }))).toEqual(['/b', '/a']);
  });
});

describe('reasons', () => {
  test('distinguishes a silent client, one without roots, an empty list and unusable roots', () => {
    const problem = 'the client did not answer within 5000 ms';
    expect(fallbackNote(choose({ report: reportOf([], { status: 'failed', problem }) }))).toBe(
      `Working in /cwd, the server's working directory: roots/list failed: ${problem}.`,
    );
    expect(reasonOf(choose({}), 'roots')).toContain('does not support roots');
    expect(reasonOf(choose({ report: reportOf([]) }), 'roots')).toContain('empty list');
    expect(reasonOf(choose({ report: reportOf([unusableRoot]) }), 'roots')).toBe(
      "the client's only root is unusable",
    );
    expect(reasonOf(choose({ report: reportOf([unusableRoot, unusableRoot]) }), 'roots')).toBe(
      "all 2 of the client's roots are unusable",
    );
    expect(
      reasonOf(choose({ report: reportOf([], { status: 'unsupported' }) }), 'roots'),
    ).toContain('-32601');
    expect(reasonOf(choose({ report: reportOf([], { settled: false }) }), 'roots')).toContain(
      'has not answered',
    );
  });

  test('lists every unusable root, without a wider fallback', () => {
    const named = Array.from({ length: 5 }, (_, index) => ({
      uri: `file:///gone/${index}`,
      problem: { code: 'NOT_FOUND', message: `"/gone/${index}" does not exist` },
    }));
    for (const rest of [{}, { status: 'failed' as const, problem: 'timed out' }]) {
      const choice = choose({ report: reportOf(named, rest) });
      expect(choice.source).toBeUndefined();
      for (const { uri, problem } of named) {
        expect(noProjectMessage(choice)).toContain(`"${uri}": ${problem.message}`);
      }
      expect(noProjectMessage(choice)).toContain(
        `5 of the client's roots are unusable ("file:///gone/0": "/gone/0" does not exist; `,
      );
      expect(reasonOf(choice, 'cwd')).toContain('the client declared roots');
    }
    const report = reportOf(named);
    expect(choose({ report, env: good('/env') }).source).toBe('env');
    expect(choose({ report, env: missing('/env') }).source).toBeUndefined();
    expect(choose({ report, directories: [good('/given')] }).source).toBe('argument');
  });

  test('names twenty of a thousand unusable roots in the error, and three in a note', () => {
    const report = reportOf(Array.from({ length: 1000 }, () => unusableRoot));
    expect(noProjectMessage(choose({ report }))).toContain('; and 980 more');
    expect(explainNoProject(choose({ report }))).not.toContain('more');
    expect(fallbackNote(choose({ report, env: good('/env') }))).toContain('; and 997 more');
  });

  test('adds no note when the roots chose', () => {
    expect(fallbackNote(choose({ report: reportOf([rootAt('/a')]) }))).toBeUndefined();
  });

  test('warns when stale roots are used after a failed query', () => {
    const report = reportOf([rootAt('/a')], { status: 'failed', problem: 'timed out' });
    expect(choose({ report })).toMatchObject({
      source: 'roots',
      warnings: [expect.stringContaining('timed out')],
    });
  });

  test('excludes the root of the file system and the home directory as fallbacks', () => {
    for (const path of ['/', '/home/me']) {
      const choice = choose({ env: good(path), cwd: good(path) });
      expect(choice.source).toBeUndefined();
      expect(reasonOf(choice, 'cwd')).toContain('must be given');
      expect(choice.warnings[0]).toContain('MCP_PROJECT_PATH');
    }
  });

  test('accepts the home directory as a root declared by the client', () => {
    expect(paths(choose({ report: reportOf([rootAt('/home/me')]) }))).toEqual(['/home/me']);
  });
});
