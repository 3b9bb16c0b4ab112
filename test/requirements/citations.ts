/** Which rows a run of the tests has cited, and what it lacks. The names are those of the run itself: nothing is run or read for them alone. */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { combinationsOf, requirements } from '../requirements.ts';
import type { Requirement } from '../requirements.ts';

const tests = join(import.meta.dirname, '..');

/** A row in the name of a test that was run. */
export interface Citation {
  readonly id: string;
  readonly file: string;
  /** What the test was run for, if `everywhere` gave it that. */
  readonly revision?: string | undefined;
  readonly transport?: string | undefined;
}

/** What counts of a test file that was run; vitest's `TestModule` has this shape. */
export interface RunModule {
  readonly moduleId: string;
  readonly children: {
    allTests(): Iterable<{ readonly fullName: string; result(): { readonly state: string } }>;
  };
}

/** The citations of a run, by tests that were not skipped. */
export function citationsOf(modules: readonly RunModule[]): readonly Citation[] {
  return modules.flatMap(({ moduleId, children }) =>
    [...children.allTests()]
      .filter((one) => one.result().state !== 'skipped')
      .flatMap(({ fullName }) => {
        const [, revision, transport] =
          / in '?(\d{4}-\d\d-\d\d)'? over '?((?:SDK )?(?:memory|stdio)|HTTP)\b/.exec(fullName) ??
          [];
        return idsIn(fullName).map((id) => ({ id, file: moduleId, revision, transport }));
      }),
  );
}

/** What the citations of a whole run lack, and what they cite that is no row. */
export function faultsOf(
  citations: readonly Citation[],
  rows: readonly Requirement[] = requirements,
): readonly string[] {
  const known = new Set(rows.map(({ id }) => id));
  const unknown = citations.filter(({ id }) => !known.has(id));
  return [
    ...new Set(unknown.map(({ id, file }) => `${id} is cited in ${file}, and is no requirement`)),
    ...rows.flatMap((row) => {
      const own = citations.filter(({ id }) => id === row.id);
      if (own.length === 0) return [`${row.id} is cited by no test: ${row.text}`];
      const lacking = combinationsOf(row).filter(
        ({ revision, transport }) =>
          !own.some(
            (by) =>
              (revision === undefined || by.revision === revision) &&
              (transport === undefined || by.transport === transport),
          ),
      );
      return lacking.map(
        ({ revision, transport }) =>
          `${row.id} is tested by no test${revision ? ` in ${revision}` : ''}${transport ? ` over ${transport}` : ''}`,
      );
    }),
  ];
}

/** True if every test file was run: only then is anything lacking. */
export async function isWhole(modules: readonly RunModule[]): Promise<boolean> {
  const run = new Set(modules.map(({ moduleId }) => moduleId));
  const names = await readdir(tests, { recursive: true });
  const files = names.filter((name) => name.endsWith('.test.ts')).map((name) => join(tests, name));
  return files.every((file) => run.has(file));
}

function idsIn(text: string): readonly string[] {
  return [...text.matchAll(/\[([A-Z]{2,}-\d{2})\]/g)].map(([, id = '']) => id);
}
