import { chmod, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryDirectory } from '../../packages/roots/test/temporary-directory.ts';
import { findChromium, needsChromium, newPage } from './chromium.ts';

test('finds the browser named by CHROMIUM, or else the first usual name on the PATH', async () => {
  const folder = await temporaryDirectory();
  const PATH = ['/nowhere', folder].join(delimiter);
  expect(findChromium({ PATH })).toBeUndefined();
  await writeFile(join(folder, 'chromium-browser'), '');
  expect(findChromium({ PATH })).toBeUndefined();
  await chmod(join(folder, 'chromium-browser'), 0o755);
  expect(findChromium({ PATH })).toBe(join(folder, 'chromium-browser'));
  expect(findChromium({ PATH, CHROMIUM: '/opt/own' })).toBe('/opt/own');
  expect(findChromium({ PATH, CHROMIUM: '' })).toBe(join(folder, 'chromium-browser'));
});

test('runs scripts in a page', async (context) => {
  needsChromium(context);
  const page = await newPage();
  await page.setContent('<h1>Here</h1>');
  expect(await page.locator('h1').textContent()).toBe('Here');
});
