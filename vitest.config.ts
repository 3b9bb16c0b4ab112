import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** Thousands of small tests on sessions within the process. Nothing of one file shows in another: they share what they import, which is half of their time. */
const shared = [
  'test/{actors,contract,machines,protocol,types}/**/*.test.ts',
  'test/server/!(validator-loading).test.ts',
];

export default defineConfig({
  resolve: {
    alias: {
      'mcp-actors/inspect': here('src/inspect/index.ts'),
      'mcp-actors/opentelemetry': here('src/opentelemetry/index.ts'),
      'mcp-actors/testing': here('src/testing/index.ts'),
      'mcp-actors': here('src/index.ts'),
    },
  },
  test: {
    projects: [
      { extends: true, test: { name: 'shared', include: shared, isolate: false } },
      { extends: true, test: { name: 'apart', include: ['test/**/*.test.ts'], exclude: shared } },
    ],
    globalSetup: ['./test/tooling/build.setup.ts'],
    reporters: ['default', './test/reporting/closing-line.reporter.ts'],
    // By default a core is left free, which on two cores is half of them.
    maxWorkers: '100%',
    testTimeout: 15_000,
    hookTimeout: 15_000,
    restoreMocks: true,
    unstubEnvs: true,
    coverage: { include: ['src/**/*.ts'], reporter: ['text', 'html'] },
  },
});
