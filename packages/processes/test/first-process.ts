/** A host that may be the first process of a container: it launches a server, ends it, and prints who was there in all. */
import { readFileSync, readdirSync } from 'node:fs';
import { once } from 'node:events';
import { systemClock } from '../../../src/actors/clock.ts';
import { defaultStopTimes } from '../src/process.machine.ts';
import { environmentFor } from '../src/environment.ts';
import { processActor } from '../src/child.actor.ts';

/** The names of all processes, zombies among them. */
const everybody = (): string[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((pid) => readFileSync(`/proc/${pid}/comm`, 'utf8').trim())
    .sort();

const facts: string[] = [];
const actor = processActor(
  {
    command: { command: 'cat', env: environmentFor() },
    isWatched: true,
    stderr: { push: () => {}, end: () => {} },
    clock: systemClock,
    report: ({ name }) => facts.push(name),
    launched: ({ stdin, stdout }) => {
      stdin.write('up\n');
      void once(stdout, 'data').then(() => {
        const during = everybody();
        actor.on('process.gone', () => {
          process.stdout.write(JSON.stringify({ during, after: everybody(), facts }));
        });
        actor.send({ type: 'process.stop' });
      });
    },
  },
  defaultStopTimes,
);
actor.start();
