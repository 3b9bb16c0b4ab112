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

/** The files that are something else in the first place, and what their actors are a part of. */
const parts: { readonly [path: string]: string } = {
  'src/client/connection/tool-tasks.ts': 'the tasks of a connection, which their machine asks',
  'src/client/http/http-channel-kind.ts': 'a kind of channel: an endpoint',
  'src/client/lists/lists.ts': 'the lists of a connection, which their machine asks',
  'src/client/stdio/process-transport.ts': 'the owner of a channel that has no connection',
  'src/recording/replay/replay-connection.ts': 'the channel of a replayed connection',
  'src/recording/replay/replay-world.ts': 'the two ends of a replayed session',
};

test('a file in src/actors that defines an actor is called so', () => {
  const here = defining.filter((path) => path.startsWith('src/actors/'));
  expect(here.filter((path) => !path.endsWith('.actor.ts'))).toEqual([]);
});

test('a file elsewhere that defines an actor is called so, or is known to be something else in the first place', () => {
  const others = defining.filter((path) => !path.endsWith('.actor.ts'));
  expect(others.toSorted()).toEqual(Object.keys(parts).toSorted());
});

test('every file that is called an actor defines one', () => {
  const called = sources.filter(({ path }) => path.endsWith('.actor.ts')).map(({ path }) => path);
  expect(called.filter((path) => !defining.includes(path))).toEqual([]);
  expect(called.length).toBeGreaterThan(5);
});
