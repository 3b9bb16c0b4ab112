import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { chartFiles, generatedPages, withGenerated } from '../../scripts/generated-docs.ts';

test.each(generatedPages)('%s shows what the code is today (npm run docs)', (page) => {
  const text = readFileSync(page, 'utf8');
  expect(text).toMatch(/<!-- generated: /);
  expect(text).toBe(withGenerated(page));
});

test.each(chartFiles().map(({ file, text }) => [file.pathname, text]))(
  '%s is what the command draws (npm run docs)',
  (file, text) => {
    expect(readFileSync(file, 'utf8') === text).toBe(true);
  },
);
