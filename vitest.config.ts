import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import type { TestProjectInlineConfiguration } from 'vitest/config';

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** Thousands of small tests on sessions within the process. Nothing of one file shows in another: they share what they import, which is half of their time. */
const shared = [
  'test/{actors,contract,machines,protocol,types}/**/*.test.ts',
  'test/server/!(validator-loading).test.ts',
];

/** Not inherited from the root: a project that extends it would run the global setup once more. */
function project(test: TestProjectInlineConfiguration['test']): TestProjectInlineConfiguration {
  return {
    resolve: {
      alias: {
        'mcp-actors/inspect': here('src/inspect/index.ts'),
        'mcp-actors/opentelemetry': here('src/opentelemetry/index.ts'),
        'mcp-actors/testing': here('src/testing/index.ts'),
        'mcp-actors': here('src/index.ts'),
      },
    },
    test: {
      testTimeout: 15_000,
      hookTimeout: 15_000,
      restoreMocks: true,
      unstubEnvs: true,
      ...test,
    },
  };
}

export default defineConfig({
  test: {
    projects: [
      project({ name: 'shared', include: shared, isolate: false }),
      project({ name: 'apart', include: ['test/**/*.test.ts'], exclude: shared }),
    ],
    globalSetup: ['./test/tooling/build.setup.ts'],
    reporters: ['default', './test/reporting/closing-line.reporter.ts'],
    // By default a core is left free, which on two cores is half of them.
    maxWorkers: '100%',
    coverage: { include: ['src/**/*.ts'], reporter: ['text', 'html'] },
  },
});
