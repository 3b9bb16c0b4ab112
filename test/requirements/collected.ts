/** The tests of the files that cite a row, by the names that they are run under. Nothing is run: the files are only read by the test runner. */
import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { createVitest } from 'vitest/node';
import config from '../../vitest.config.ts';

const tests = join(import.meta.dirname, '..');

export interface Citation {
  readonly id: string;
  /** Where it is. */
  readonly file: string;
  /** The revision and the transport that the test is run for, where `everywhere` has given it some. */
  readonly revision?: string | undefined;
  readonly transport?: string | undefined;
}

/** Every citation of a row, by a test or a transcript. */
export async function citations(): Promise<readonly Citation[]> {
  const names = await readdir(tests, { recursive: true });
  const citing = [];
  for (const file of names.filter((name) => /\.(test\.ts|jsonl)$/.test(name))) {
    const text = await readFile(join(tests, file), 'utf8');
    if (idsIn(text).length > 0) citing.push({ file, text });
  }
  const transcripts = citing.filter(({ file }) => file.endsWith('.jsonl'));
  const files = citing.filter(({ file }) => file.endsWith('.test.ts'));
  return [
    ...transcripts.flatMap(({ file, text }) => idsIn(text).map((id) => ({ id, file }))),
    ...(await collect(files.map(({ file }) => join(tests, file)))),
  ];
}

async function collect(files: readonly string[]): Promise<readonly Citation[]> {
  // All of them together: which are run apart from others makes no difference here.
  const common = { ...config.test };
  delete common.projects;
  const vitest = await createVitest('test', {
    ...common,
    config: false,
    alias: config.resolve?.alias,
    include: ['test/**/*.test.ts'],
    globalSetup: [],
    reporters: [],
    watch: false,
    // One worker reads one file after the other, and what they share once.
    isolate: false,
    fileParallelism: false,
  });
  try {
    const { testModules, unhandledErrors } = await vitest.collect([...files]);
    if (unhandledErrors.length > 0) throw new AggregateError(unhandledErrors);
    return testModules.flatMap(({ moduleId, children }) =>
      [...children.allTests()]
        .filter(({ options }) => options.mode === 'run')
        .flatMap(({ fullName }) => {
          const [, revision, transport] =
            / in '?(\d{4}-\d\d-\d\d)'? over '?((?:SDK )?(?:memory|stdio))\b/.exec(fullName) ?? [];
          return idsIn(fullName).map((id) => ({ id, file: moduleId, revision, transport }));
        }),
    );
  } finally {
    await vitest.close();
  }
}

function idsIn(text: string): readonly string[] {
  return [...text.matchAll(/\[([A-Z]{2,}-\d{2})\]/g)].map(([, id = '']) => id);
}
