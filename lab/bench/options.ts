/** Command line of the benchmark. */
import { parseArgs } from 'node:util';
import type { Task } from './run.ts';
import { quickOf } from './servers.ts';
import type { Server } from './servers.ts';
import { sizes } from './sizes.ts';
import type { Extent } from './sizes.ts';
import { bridgeSuite, httpSuite, stdioSuite, taskSuite } from './suites.ts';
import type { Suite } from './suites.ts';

export interface Options {
  readonly extent: Extent;
  readonly suite: Suite;
  readonly servers: readonly Server[];
  readonly tasks: readonly Task[];
  /** Overrides the number of rounds. */
  readonly rounds: number | undefined;
  /** True to update docs/performance.md, its chart and its data. */
  readonly publish: boolean;
  /** True if a failing peer fails the run. */
  readonly strict: boolean;
  /** File for the results as JSON. */
  readonly json: string | undefined;
  /** Folder for CPU profiles of the servers. */
  readonly profile: string | undefined;
}

const namesOf = (list: readonly { readonly name: string }[]): string =>
  list.map(({ name }) => name).join(', ');

export const usage = `npm run lab -- bench [options]
  --http             servers over HTTP instead of stdio
  --bridge           bridges instead of servers: ours and what else is used; the floor is what it costs without one
  --tasks            what it costs that tasks are written down, with each store
  --client           clients instead of servers: ours and the official ones; with --quick, --smoke or --ways connect,stdio,enveloped,http,http-enveloped
  --quick            rough numbers in under a minute: ours, the floor and two peers
  --smoke            every path once, for CI
  --servers a,b      ${namesOf(stdioSuite.servers)}; over HTTP ${namesOf(httpSuite.servers)}; of tasks ${namesOf(taskSuite.servers)}; bridges ${namesOf(bridgeSuite.servers)}
  --measures a,b     ${namesOf(stdioSuite.tasks)}; over HTTP ${namesOf(httpSuite.tasks)}; of tasks ${namesOf(taskSuite.tasks)}; bridges ${namesOf(bridgeSuite.tasks)}
  --rounds n         instead of ${sizes.full.rounds}
  --json FILE        the results as JSON
  --strict           fails if a peer fails a measure too
  --publish          writes the suite's part of docs/performance.md, its chart and its data beside the page
  --profile FOLDER   a CPU profile of each server's process, and where its time went`;

/** @throws {Error} if an argument is invalid */
export function readOptions(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      http: { type: 'boolean', default: false },
      tasks: { type: 'boolean', default: false },
      bridge: { type: 'boolean', default: false },
      quick: { type: 'boolean', default: false },
      smoke: { type: 'boolean', default: false },
      servers: { type: 'string' },
      measures: { type: 'string' },
      rounds: { type: 'string' },
      json: { type: 'string' },
      publish: { type: 'boolean', default: false },
      strict: { type: 'boolean', default: false },
      profile: { type: 'string' },
    },
  });
  const extent = extentOf(values);
  const suite = suiteOf(values);
  const { servers, tasks } = suite;
  return {
    extent,
    suite,
    servers: chosen(values.servers, servers, extent === 'quick' ? quickOf(servers) : servers),
    tasks: chosen(values.measures, tasks, tasks),
    rounds: values.rounds === undefined ? undefined : Math.max(1, Number(values.rounds) || 1),
    publish: values.publish,
    strict: values.strict,
    json: values.json,
    profile: values.profile,
  };
}

function suiteOf(values: {
  readonly bridge: boolean;
  readonly http: boolean;
  readonly tasks: boolean;
}): Suite {
  if (values.bridge) return bridgeSuite;
  if (values.http) return httpSuite;
  return values.tasks ? taskSuite : stdioSuite;
}

function extentOf(values: {
  readonly quick: boolean;
  readonly smoke: boolean;
  readonly profile?: string | undefined;
}): Extent {
  if (values.smoke) return 'smoke';
  if (values.quick) return 'quick';
  return values.profile === undefined ? 'full' : 'profile';
}

function chosen<T extends { readonly name: string }>(
  list: string | undefined,
  all: readonly T[],
  byDefault: readonly T[],
): readonly T[] {
  if (list === undefined) return byDefault;
  return list.split(',').map((name) => {
    const found = all.find((one) => one.name === name);
    if (!found) {
      throw new Error(`there is no "${name}"; there are ${all.map((one) => one.name).join(', ')}`);
    }
    return found;
  });
}
