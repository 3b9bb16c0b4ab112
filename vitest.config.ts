import { realpathSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import type { TestProjectInlineConfiguration } from 'vitest/config';
import WaitingFirstSequencer from './test/reporting/waiting-first.sequencer.ts';
import tsconfig from './tsconfig.json' with { type: 'json' };

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** The entries of the library and of the packages, as tsconfig.json maps them to their sources. */
const sources = Object.entries(tsconfig.compilerOptions.paths).map(([name, [path = '']]) => ({
  find: new RegExp(`^${name}$`),
  replacement: here(path),
}));

const tests = ['test', 'packages/*/test', 'lab/test'];
const all = tests.map((folder) => `${folder}/**/*.test.ts`);

/** What mocks a module, looks at what is loaded, counts the timers of its process, or collects the heap, which is large where many files have run. Nothing of any other file shows in another: they share what they import, which would be half of their time. */
const apart = tests.map((folder) => `${folder}/**/*.apart.test.ts`);

/** By its real name: on macOS the folder is behind a link, on Windows its name may be a short one, and servers give real paths. */
const temporary = realpathSync.native(tmpdir());

/** Not inherited from the root: a project that extends it would run the global setup once more. */
export function project(
  test: TestProjectInlineConfiguration['test'],
): TestProjectInlineConfiguration {
  return {
    resolve: {
      alias: sources,
    },
    test: {
      // For what hangs. What is slow is no failure: a machine may do a dozen other things, and two minutes have been too short then.
      testTimeout: 300_000,
      hookTimeout: 300_000,
      // The default of a second is shorter than a process takes to start on a busy machine.
      expect: { poll: { timeout: 120_000 } },
      restoreMocks: true,
      unstubEnvs: true,
      env: { TMPDIR: temporary, TEMP: temporary, TMP: temporary },
      setupFiles: [
        './test/tooling/globals.setup.ts',
        ...(process.platform === 'linux' ? [] : ['./test/tooling/systems.setup.ts']),
      ],
      ...test,
    },
  };
}

export default defineConfig({
  test: {
    projects: [
      project({ name: 'together', include: all, exclude: apart, isolate: false }),
      project({ name: 'apart', include: apart }),
    ],
    globalSetup: ['./test/tooling/build.setup.ts'],
    reporters: ['default', './test/reporting/closing-line.reporter.ts'],
    sequence: { sequencer: WaitingFirstSequencer },
    // More than there are cores: half of the time tests wait, for a process, a store or a page.
    maxWorkers: availableParallelism() + 3,
    coverage: { include: ['{src,packages/*/src}/**/*.ts'], reporter: ['text', 'html'] },
  },
});
