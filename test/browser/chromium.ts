/**
 * A real Chromium for tests: the one that `CHROMIUM` names, or else the first that is on the PATH. Where there is none, the tests that
 * need it are skipped and counted; a Chromium that is there and does not start is a failure.
 */
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { chromium } from 'playwright-core';
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import { onTestFinished } from 'vitest';
import type { TestContext } from 'vitest';

/** The shell without windows of its own comes first: a page costs less than half of the processor time in it. */
const usualNames = [
  'chromium-headless-shell',
  'chromium',
  'chromium-browser',
  'google-chrome-stable',
  'google-chrome',
];

/** No sandbox: tests run as root in containers, and load nothing but their own pages. Pages share a process, which spares half of them. */
const flags = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--process-per-site',
  '--renderer-process-limit=1',
];

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** The executable, if there is one. What `CHROMIUM` names is taken as it is. */
export function findChromium(environment = process.env): string | undefined {
  const { CHROMIUM: named, PATH: path = '' } = environment;
  if (named !== undefined && named !== '') return named;
  const folders = path.split(delimiter).filter((folder) => folder !== '');
  return usualNames
    .flatMap((name) => folders.map((folder) => join(folder, name)))
    .find((candidate) => isExecutable(candidate));
}

const executable = findChromium();

/** First in each test that needs Chromium: skips it, with the reason, where there is none. */
export function needsChromium(context: TestContext): void {
  context.skip(
    executable === undefined,
    `No Chromium: none of ${usualNames.join(', ')} is on the PATH, and CHROMIUM names none`,
  );
}

/** One for all files of a worker: a launch costs more than most pages. It ends with the worker. */
let launched: Promise<Browser> | undefined;

/**
 * A context of its own in a headless Chromium, until the test has ended.
 * @throws {Error} there is no Chromium, or it does not start
 */
export async function newContext(options: BrowserContextOptions = {}): Promise<BrowserContext> {
  if (executable === undefined) throw new Error('No Chromium: ask needsChromium() first');
  launched ??= chromium.launch({ executablePath: executable, headless: true, args: flags });
  const browser = await launched;
  const context = await browser.newContext(options);
  onTestFinished(() => context.close());
  return context;
}

/** A page in a context of its own, until the test has ended. */
export async function newPage(): Promise<Page> {
  const context = await newContext();
  return await context.newPage();
}
