/** Where actors are defined, by the names of the files. */
import { expect, test } from 'vitest';
import { readSources } from './sources.ts';

/** Calls of what makes the logic of an actor. */
const makesActor =
  /(?<![\w`])(?:plainActor|from(?:Promise|Callback|Observable|Transition))(?:<|\()/;

const sources = readSources().filter(
  ({ path }) => !path.endsWith('.machine.ts') && path !== 'src/machines/port.ts',
);
const defining = sources.filter(({ text }) => makesActor.test(text)).map(({ path }) => path);

test('a file that defines an actor is called so', () => {
  expect(defining.filter((path) => !path.endsWith('.actor.ts'))).toEqual([]);
});

test('every file that is called an actor defines one', () => {
  const called = sources.filter(({ path }) => path.endsWith('.actor.ts')).map(({ path }) => path);
  expect(called.filter((path) => !defining.includes(path))).toEqual([]);
  expect(called.length).toBeGreaterThan(5);
});
