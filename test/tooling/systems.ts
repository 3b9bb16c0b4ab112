/**
 * What tests need that a system does not have. Each of them is skipped there, with the reason, and counted.
 * `npm test` on that system says how many; docs/maintaining/platforms.md says what has been tried where.
 */

export interface Lack {
  readonly on: readonly NodeJS.Platform[];
  readonly why: string;
  /** Files by their path from the root of the repository; with a pattern, only the tests whose full name it matches. */
  readonly tests: { readonly [file: string]: RegExp | 'all' };
}

export const lacks: readonly Lack[] = [
  {
    on: ['win32'],
    why: 'Windows ends a process instead of sending it a signal',
    tests: {
      'test/e2e/awaiting-script.test.ts': /a signal ends/,
      'packages/cli/test/e2e/check.test.ts': /leaves no process behind/,
      'test/e2e/lab.test.ts': /SIG/,
      'test/e2e/process.test.ts': /SIG|a second signal|an uncaught error/,
      'test/e2e/recording.test.ts': /SIGTERM/,
      'packages/serve/test/serve.test.ts': /signal/,
    },
  },
  {
    on: ['win32'],
    why: 'Windows has no shell that runs the steps of a Dockerfile',
    tests: { 'test/release/packed.test.ts': 'all' },
  },
  {
    on: ['win32'],
    why: 'Windows has no SIGUSR2: there the doctor asks on a pipe',
    tests: {
      'packages/cli/test/doctor.test.ts': 'all',
      'packages/cli/test/e2e/doctor.test.ts': /^(?!.*finds what a session waits for whose client)/,
    },
  },
  {
    on: ['win32'],
    why: 'Windows has no named pipes in folders, and none of the devices in /dev',
    tests: {
      'packages/cli/test/log.apart.test.ts': /no file and no character device/,
      'test/e2e/recording.test.ts': /a pipe without a writer|rejects/,
      'test/e2e/workspace.test.ts': /become pipes/,
      'packages/roots/test/boundary.test.ts': /non-regular files/,
      'packages/roots/test/disk-lanes.apart.test.ts': /operations that hang/,
      'packages/workspace-server/test/project-facts.test.ts': /a pipe/,
      'packages/workspace-server/test/replaced-by-pipe.apart.test.ts': 'all',
    },
  },
  {
    on: ['win32'],
    why: 'Windows has no file modes',
    tests: {
      'test/browser/chromium.test.ts': 'all',
      'packages/cli/test/log.apart.test.ts': /for its owner alone/,
      'test/e2e/recording.test.ts': /readable by its owner only/,
      'test/tooling/package.test.ts': /an executable command/,
    },
  },
  {
    on: ['win32'],
    why: 'Windows has neither the rights of a file nor HOME',
    tests: { 'packages/cli/test/e2e/config-files.test.ts': 'all' },
  },
  {
    on: ['win32'],
    why: 'Windows refuses such names of files',
    tests: {
      'test/e2e/recording.test.ts': /in a terminal/,
      'packages/workspace-server/test/tools/find-files.test.ts': /any names/,
      'packages/workspace-server/test/tools/hostile-names.test.ts': 'all',
    },
  },
  {
    on: ['win32'],
    why: 'It takes a POSIX shell or ps',
    tests: {
      'packages/cli/test/host-configuration.test.ts': /gives a shell the same arguments/,
      'test/docs/blocks.test.ts': /install or download|named on a page exist/,
      'test/docs/commands.test.ts': /work as described/,
      'packages/workspace-server/test/ripgrep.test.ts': 'all',
    },
  },
  {
    on: ['win32'],
    why: 'Windows keeps a directory in place while a process works in it or has it open',
    tests: {
      'packages/cli/test/e2e/command.test.ts': /directory that it was started in is gone/,
      'packages/workspace-server/test/root-directory.test.ts': 'all',
    },
  },
  {
    on: ['darwin', 'win32'],
    why: 'The process table is read in /proc',
    tests: {
      'packages/client/test/everything.test.ts': 'all',
      'packages/client/test/lost-processes.test.ts': 'all',
      'packages/client/test/stdio-channel.test.ts': 'all',
      'packages/processes/test/host-death.test.ts': 'all',
      'packages/processes/test/process.test.ts': 'all',
      'packages/processes/test/spawn-failures.test.ts': 'all',
      'packages/processes/test/windows-platform.test.ts': 'all',
    },
  },
  {
    on: ['darwin'],
    why: 'ps does not tell whether a process listens, so the doctor asks none that is younger than three seconds',
    tests: {
      'test/docs/commands.test.ts': /docs\/diagnosing\.md/,
      'packages/cli/test/e2e/doctor.test.ts': 'all',
    },
  },
];

/** Why a test cannot run on a system; undefined if it can. */
export function lackOf(
  platform: NodeJS.Platform,
  file: string,
  fullName: string,
): string | undefined {
  const path = file.replaceAll('\\', '/');
  return lacks.find(({ on, tests }) => {
    const which = Object.entries(tests).find(([name]) => path.endsWith(`/${name}`))?.[1];
    return on.includes(platform) && (which === 'all' || which?.test(fullName) === true);
  })?.why;
}
