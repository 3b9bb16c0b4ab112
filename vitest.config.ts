import { realpathSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import type { TestProjectInlineConfiguration } from 'vitest/config';

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

const all = 'test/**/*.test.ts';

/** What mocks a module, looks at what is loaded, or collects the heap, which is large where many files have run. Nothing of any other file shows in another: they share what they import, which would be half of their time. */
const apart = 'test/**/*.apart.test.ts';

/** By its real name: on macOS the folder is behind a link, on Windows its name may be a short one, and servers give real paths. */
const temporary = realpathSync.native(tmpdir());

/** Not inherited from the root: a project that extends it would run the global setup once more. */
function project(test: TestProjectInlineConfiguration['test']): TestProjectInlineConfiguration {
  return {
    resolve: {
      alias: {
        'mcp-actors/http/node': here('src/http/node/index.ts'),
        'mcp-actors/http': here('src/http/index.ts'),
        'mcp-actors/client': here('src/client/index.ts'),
        'mcp-actors/inspect': here('src/inspect/index.ts'),
        'mcp-actors/opentelemetry': here('src/opentelemetry/index.ts'),
        'mcp-actors/redis': here('src/redis/index.ts'),
        'mcp-actors/roots': here('src/roots/index.ts'),
        'mcp-actors/serve': here('src/serve/index.ts'),
        'mcp-actors/testing': here('src/testing/index.ts'),
        'mcp-actors': here('src/index.ts'),
      },
    },
    test: {
      // For what hangs. What is slow is no failure: a machine may do a dozen other things.
      testTimeout: 30_000,
      hookTimeout: 30_000,
      // The default of a second is shorter than a process takes to start on a busy machine.
      expect: { poll: { timeout: 20_000 } },
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
      project({ name: 'together', include: [all], exclude: [apart], isolate: false }),
      project({ name: 'apart', include: [apart] }),
    ],
    globalSetup: ['./test/tooling/build.setup.ts'],
    reporters: ['default', './test/reporting/closing-line.reporter.ts'],
    // By default a core is left free, which on two cores is half of them.
    maxWorkers: '100%',
    coverage: { include: ['src/**/*.ts'], reporter: ['text', 'html'] },
  },
});
