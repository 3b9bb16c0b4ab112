import { expect, test } from 'vitest';
import { recordOf, recorded, screenshots } from './screenshots.ts';

test('each screenshot of the docs has a record of its contents', () => {
  expect(screenshots.length).toBeGreaterThan(0);
  expect(Object.keys(recorded())).toEqual(screenshots);
});

test.each(screenshots)(
  '%s matches the current page and charts (renew with npm run lab -- screenshots)',
  (name) => {
    const record = recorded()[name];
    expect(record).toEqual(recordOf(record?.charts ?? []));
    expect(record?.charts).not.toEqual([]);
  },
);
