/**
 * A host of two servers and a crashed one's helper, which another process kills. It prints the numbers
 * of the groups once all run, and lives on.
 */
import { systemClock } from '../../../src/actors/clock.ts';
import { defaultStopTimes } from '../src/process.machine.ts';
import { environmentFor } from '../src/environment.ts';
import { processActor } from '../src/child.actor.ts';

const isWatched = process.argv[2] !== 'unwatched';
const end = process.argv[3];
/** Where a server says that it had time to end by itself. */
const lastWords = process.argv[4] ?? '/dev/null';

/** Resolves with its number once it has printed a line. */
function launch(script: string, env: { readonly [name: string]: string } = {}): Promise<number> {
  return new Promise((resolve) => {
    let pid = 0;
    const actor = processActor(
      {
        command: { command: '/bin/sh', args: ['-c', script], env: environmentFor(env) },
        isWatched,
        stderr: { push: () => {}, end: () => {} },
        clock: systemClock,
        report: () => {},
        launched: ({ stdout }) => {
          stdout.once('data', () => resolve(pid));
        },
      },
      { ...defaultStopTimes, terminateMs: 60_000 },
    );
    actor.on('process.launched', (report) => {
      pid = report.pid;
    });
    actor.start();
  });
}

// What the terminal sends reaches the host alone, and it goes on.
process.on('SIGINT', () => process.stdout.write('interrupted\n'));

const groups = await Promise.all([
  // Deaf to the end of its input.
  launch('echo up; while :; do sleep 1000; done'),
  // Deaf to SIGTERM too, and so is its helper.
  launch('trap "" TERM; sleep 1000 & echo up; while :; do sleep 1000; done'),
  // It crashes, and leaves a helper that is deaf to SIGTERM.
  launch('(trap "" TERM; echo up; sleep 1000) & read line; exit 1'),
  // It has something to do when it is told to end, and a PATH without anything.
  launch(
    'trap "while [ \\$((n += 1)) -lt 5000 ]; do :; done; echo ended >$LAST_WORDS; exit" TERM; ' +
      'echo up; while :; do read line; done',
    { LAST_WORDS: lastWords, PATH: '/nowhere' },
  ),
]);
process.stdout.write(`${JSON.stringify(groups)}\n`);
if (end === 'exit') process.exit(0);
