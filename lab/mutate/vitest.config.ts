/** Runs the repository's tests over modules with inactive faults. */
import { readFileSync } from 'node:fs';
import { defineConfig } from 'vitest/config';
import { project } from '../../vitest.config.ts';
import { withFaults } from './mutants.ts';

/** Number of the first fault of each module. */
const firsts = JSON.parse(readFileSync(process.env['MUTATE_MODULES'] ?? '', 'utf8')) as Record<
  string,
  number
>;
const { resolve, test } = project({ name: 'faults' });
/** Each test then runs once, with that fault. */
const isAwake = process.env['MUTATE_AWAKE'] !== undefined;

export default defineConfig({
  resolve,
  root: `${import.meta.dirname}/../..`,
  plugins: [
    {
      name: 'faults',
      enforce: 'pre',
      transform: (code, id) => {
        const first = firsts[id];
        return first === undefined ? undefined : { code: withFaults(id, code, first), map: null };
      },
    },
  ],
  test: {
    ...test,
    include: ['{test,packages/*/test,lab/test}/**/*.test.ts'],
    isolate: false,
    fileParallelism: false,
    maxWorkers: 1,
    hookTimeout: 15_000,
    ...(isAwake
      ? {
          bail: 1,
          setupFiles: [`${import.meta.dirname}/faults.ts`, ...[test?.setupFiles ?? []].flat()],
        }
      : { runner: `${import.meta.dirname}/runner.ts` }),
    reporters: ['dot'],
    dangerouslyIgnoreUnhandledErrors: !isAwake,
  },
});
