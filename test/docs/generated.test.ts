import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { chartFiles, generatedPages, withGenerated } from '../../scripts/generated-docs.ts';

test.each(generatedPages)('keeps %s up to date with the code (npm run docs)', (page) => {
  const text = readFileSync(page, 'utf8');
  expect(text).toMatch(/<!-- generated: /);
  expect(text).toBe(withGenerated(page));
});

test.each(chartFiles().map(({ file, text }) => [file.pathname, text]))(
  "keeps %s up to date with the command's drawing (npm run docs)",
  (file, text) => {
    expect(readFileSync(file, 'utf8') === text).toBe(true);
  },
);
