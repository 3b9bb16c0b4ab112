import { expect, test } from 'vitest';
import { recordOf, recorded, screenshots } from './screenshots.ts';

test('each screenshot of the docs has a record of what it shows', () => {
  expect(screenshots.length).toBeGreaterThan(0);
  expect(Object.keys(recorded())).toEqual(screenshots);
});

test.each(screenshots)(
  '%s shows the page and its charts as they are (npm run lab -- screenshots)',
  (name) => {
    const record = recorded()[name];
    expect(record).toEqual(recordOf(record?.charts ?? []));
    expect(record?.charts).not.toEqual([]);
  },
);
