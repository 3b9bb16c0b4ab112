/**
 * What tests need that a system does not have. Each of them is skipped there, with the reason, and counted.
 * `npm test` on that system says how many; docs/platforms.md says what has been tried where.
 */

export interface Lack {
  readonly on: readonly NodeJS.Platform[];
  readonly why: string;
  /** Files below `test/`; with a pattern, only the tests whose full name it matches. */
  readonly tests: { readonly [file: string]: RegExp | 'all' };
}

export const lacks: readonly Lack[] = [
  {
    on: ['win32'],
    why: 'Windows ends a process instead of sending it a signal',
    tests: {
      'e2e/awaiting-script.test.ts': /a signal ends/,
      'e2e/check.test.ts': /leaves no process behind/,
      'e2e/lab.test.ts': /SIG/,
      'e2e/process.test.ts': /SIG|a second signal|a failure that nobody catches/,
      'e2e/recording.test.ts': /SIGTERM/,
      'e2e/serve.test.ts': /signal/,
    },
  },
  {
    on: ['win32'],
    why: 'Windows has no SIGUSR2, and so no doctor',
    tests: { 'cli/doctor.test.ts': 'all', 'e2e/doctor.test.ts': 'all' },
  },
  {
    on: ['win32'],
    why: 'Windows has no named pipes in folders, and none of the devices in /dev',
    tests: {
      'cli/log.test.ts': /no file and no character device/,
      'e2e/recording.test.ts': /a pipe that nobody writes to|refused/,
      'e2e/workspace.test.ts': /become pipes/,
      'workspace/boundary.test.ts': /no regular file/,
      'workspace/disk-lanes.test.ts': /threads that really hang/,
      'workspace/project-facts.test.ts': /a pipe/,
      'workspace/replaced-by-pipe.apart.test.ts': 'all',
    },
  },
  {
    on: ['win32'],
    why: 'Windows has no file modes',
    tests: {
      'browser/chromium.test.ts': 'all',
      'cli/log.test.ts': /for its owner alone/,
      'e2e/recording.test.ts': /for its owner alone/,
      'tooling/package.test.ts': /an executable command/,
    },
  },
  {
    on: ['win32'],
    why: 'Windows refuses such names of files',
    tests: {
      'e2e/recording.test.ts': /obeyed by a terminal/,
      'workspace/tools/find-files.test.ts': /whatever the names/,
      'workspace/tools/hostile-names.test.ts': 'all',
    },
  },
  {
    on: ['win32'],
    why: 'It takes a POSIX shell or ps',
    tests: {
      'cli/host-configuration.test.ts': /gives a shell the same arguments/,
      'docs/blocks.test.ts': /that installs or fetches|that a page names exist/,
      'docs/commands.test.ts': /do what it says/,
      'workspace/ripgrep.test.ts': 'all',
    },
  },
  {
    on: ['win32'],
    why: 'Windows keeps a directory in place while a process works in it or has it open',
    tests: {
      'e2e/command.test.ts': /directory that it was started in is gone/,
      'workspace/root-directory.test.ts': 'all',
    },
  },
  {
    on: ['darwin', 'win32'],
    why: 'The process table is read in /proc',
    tests: {
      'client/everything.test.ts': 'all',
      'client/lost-processes.test.ts': 'all',
      'client/stdio-channel.test.ts': 'all',
      'processes/host-death.test.ts': 'all',
      'processes/process.test.ts': 'all',
      'processes/spawn-failures.test.ts': 'all',
    },
  },
  {
    on: ['darwin'],
    why: 'ps does not tell whether a process listens, so the doctor asks none that is younger than three seconds',
    tests: { 'docs/commands.test.ts': /docs\/diagnosing\.md/, 'e2e/doctor.test.ts': 'all' },
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
    const which = Object.entries(tests).find(([name]) => path.endsWith(`/test/${name}`))?.[1];
    return on.includes(platform) && (which === 'all' || which?.test(fullName) === true);
  })?.why;
}
