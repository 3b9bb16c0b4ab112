import { expect, test } from 'vitest';
import { StartPlaces } from '../../../src/client/hosts/manager.ts';

test('no more start than there are places, in the order of coming, and a place is given back once', () => {
  const places = new StartPlaces(2);
  const started: string[] = [];
  const releases = new Map<string, () => void>();
  for (const name of ['a', 'b', 'c', 'd']) {
    places.take((release) => {
      started.push(name);
      releases.set(name, release);
    });
  }
  expect(started).toEqual(['a', 'b']);
  releases.get('b')?.();
  releases.get('b')?.();
  expect(started).toEqual(['a', 'b', 'c']);
  releases.get('a')?.();
  expect(started).toEqual(['a', 'b', 'c', 'd']);
});
