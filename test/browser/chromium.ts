/**
 * A real Chromium for tests: the one named by `CHROMIUM`, or else the first on the PATH. Without
 * one, tests that need it are skipped and counted; a Chromium that fails to start is an error.
 */
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { chromium } from 'playwright-core';
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import { onTestFinished } from 'vitest';
import type { TestContext } from 'vitest';

/** The headless shell comes first: its pages need less than half the processor time. */
const usualNames = [
  'chromium-headless-shell',
  'chromium',
  'chromium-browser',
  'google-chrome-stable',
  'google-chrome',
];

/**
 * No sandbox, because tests run as root in containers and load only their own pages. Pages share a
 * process, which saves half of the processes.
 */
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

/** The executable, if found. `CHROMIUM` is used unchecked. */
export function findChromium(environment = process.env): string | undefined {
  const { CHROMIUM: named, PATH: path = '' } = environment;
  if (named !== undefined && named !== '') return named;
  const folders = path.split(delimiter).filter((folder) => folder !== '');
  return usualNames
    .flatMap((name) => folders.map((folder) => join(folder, name)))
    .find((candidate) => isExecutable(candidate));
}

const executable = findChromium();

/** Call first in each test that needs Chromium: skips it, with the reason, if there is none. */
export function needsChromium(context: TestContext): void {
  context.skip(
    executable === undefined,
    `No Chromium: none of ${usualNames.join(', ')} is on the PATH, and CHROMIUM names none`,
  );
}

/**
 * Shared by all files of a worker, since a launch costs more than most pages. Closed with the
 * worker.
 */
let launched: Promise<Browser> | undefined;

/**
 * A separate context in a headless Chromium, closed with the test. @throws {Error} Chromium is
 * missing or does not start
 */
export async function newContext(options: BrowserContextOptions = {}): Promise<BrowserContext> {
  if (executable === undefined) throw new Error('No Chromium: ask needsChromium() first');
  launched ??= chromium.launch({ executablePath: executable, headless: true, args: flags });
  const browser = await launched;
  const context = await browser.newContext(options);
  onTestFinished(() => context.close());
  return context;
}

/** A page in a separate context, closed with the test. */
export async function newPage(): Promise<Page> {
  const context = await newContext();
  return await context.newPage();
}
