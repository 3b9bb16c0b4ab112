/** Where actors and machines are defined, by the names of the files. */
import { expect, test } from 'vitest';
import { readSources } from './sources.ts';
import type { Source } from './sources.ts';

/** Calls of what makes the logic of an actor. */
const makesActor =
  /(?<![\w`])(?:plainActor|from(?:Promise|Callback|Observable|Transition))(?:<|\()/;

const sources = readSources().filter(
  ({ path }) => !path.endsWith('.machine.ts') && path !== 'src/machines/port.ts',
);
const defining = sources.filter(({ text }) => makesActor.test(text)).map(({ path }) => path);

test('files that define actors are named *.actor.ts', () => {
  expect(defining.filter((path) => !path.endsWith('.actor.ts'))).toEqual([]);
});

test('files named *.actor.ts define an actor', () => {
  const called = sources.filter(({ path }) => path.endsWith('.actor.ts')).map(({ path }) => path);
  expect(called.filter((path) => !defining.includes(path))).toEqual([]);
  expect(called.length).toBeGreaterThan(5);
});

/** Whether a file exports more than types. */
const hasValues = ({ program }: Source): boolean =>
  program.body.some(
    (node) =>
      node.type === 'ExportNamedDeclaration' &&
      node.exportKind !== 'type' &&
      !node.declaration?.type.startsWith('TS'),
  );

/** What machines are made with: no other part of `src` uses it. */
const parts = ['overtaken-answers.ts', 'pure-chart.ts', 'session-end.ts'];
/** What a machine is seen by: its chart, its actors, the names of its states and events. */
const sights = ['names.ts', 'port.ts', 'session-state.ts'];

test('src/machines contains only machines, their helpers and types', () => {
  const others = readSources(['src/machines']).filter(
    (source) => !source.path.endsWith('.machine.ts') && hasValues(source),
  );
  const files = others.map(({ path }) => path.replace('src/machines/', ''));
  expect(files.toSorted()).toEqual([...parts, ...sights].toSorted());
});

test('only machines use the helpers of machines', () => {
  const users = sources.filter(({ path, text }) => {
    if (path.startsWith('src/machines/') || path === 'src/internal.ts') return false;
    const values = text.matchAll(/^import \{[^;]*?\/machines\/([^']+)';$/gm);
    return [...values].some(([, file = '']) => parts.includes(file));
  });
  expect(users.map(({ path }) => path)).toEqual([]);
});
