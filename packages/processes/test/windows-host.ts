/** A host of two servers on the stand-ins of Windows's tools. It prints a line once both run. */
import { systemClock } from '../../../src/actors/clock.ts';
import { defaultStopTimes } from '../src/process.machine.ts';
import { processActor } from '../src/child.actor.ts';
import { environmentFor } from '../src/environment.ts';
import { windowsPlatform } from '../src/platforms.ts';
import { join } from 'node:path';

const [, , folder = '', watched, end] = process.argv;
const tool = (name: string) => join(folder, name);
const platform = windowsPlatform({
  cmd: tool('cmd'),
  findstr: tool('findstr'),
  powershell: tool('powershell'),
  taskkill: tool('taskkill'),
});

/** Resolves with what stops it, once it has printed a line. */
function launch(script: string): Promise<() => void> {
  return new Promise((resolve) => {
    const actor = processActor(
      {
        command: {
          command: '/bin/sh',
          args: ['-c', script],
          env: environmentFor({ FOLDER: folder }),
        },
        isWatched: watched === 'watched',
        stderr: { push: () => {}, end: () => {} },
        clock: systemClock,
        report: () => {},
        launched: ({ stdout }) => {
          stdout.once('data', () => resolve(() => actor.send({ type: 'process.stop' })));
        },
        platform,
      },
      { ...defaultStopTimes, inputMs: 10, terminateMs: 10 },
    );
    actor.start();
  });
}

const stops = await Promise.all([
  // Deaf to the end of its input.
  launch('echo up; while :; do sleep 1000; done'),
  launch('cat & echo up; read line'),
]);
process.stdout.write('running\n');
if (end === 'exit') process.exit(0);
if (end === 'closes') for (const stop of stops) stop();
