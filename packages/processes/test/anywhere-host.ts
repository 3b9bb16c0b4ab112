/** A host of one server, which another process kills. It prints what the server prints. */
import { systemClock } from '../../../src/actors/clock.ts';
import { defaultStopTimes } from '../src/process.machine.ts';
import { processActor } from '../src/child.actor.ts';
import { environmentFor } from '../src/environment.ts';

/** The arguments of a Node that prints its pid and its helper's, and that nothing but a kill ends. */
export function deafServer(end: 'crashes' | 'stays' = 'stays'): readonly string[] {
  const deaf = "process.on('SIGTERM', () => {}); setInterval(() => {}, 1e6);";
  const server = `${deaf}
    const helper = require('node:child_process').spawn(process.execPath, ['-e', ${JSON.stringify(`${deaf} console.log('up')`)}]);
    helper.stdout.once('data', () => console.log(JSON.stringify([process.pid, helper.pid])));
    if (${end === 'crashes'}) process.stdin.once('data', () => process.exit(7));`;
  return ['-e', server];
}

if (process.argv[1]?.includes('anywhere-host')) {
  processActor(
    {
      command: { command: process.execPath, args: deafServer(), env: environmentFor() },
      isWatched: true,
      stderr: { push: () => {}, end: () => {} },
      clock: systemClock,
      report: () => {},
      launched: ({ stdout }) => stdout.pipe(process.stdout),
    },
    defaultStopTimes,
  ).start();
}
