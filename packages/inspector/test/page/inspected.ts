/** A server in its own process, and its page in a real browser restricted to that page. */
import type { BrowserContextOptions, Page } from 'playwright-core';
import { launch, workspaceCommand } from '../../../../test/e2e/server-process.ts';
import type { ServerProcess } from '../../../../test/e2e/server-process.ts';
import { program } from '../../../../test/tooling/programs.ts';
import { newContext } from '../../../../test/browser/chromium.ts';

/** Command line of the built command with its page. */
export const inspectedCommand = [...workspaceCommand, '--inspect'];
/** An example server with the page: tables in a restaurant. */
export const inspectedExample = program('examples/inspecting/server.ts');

export interface Inspected {
  readonly server: ServerProcess;
  readonly url: string;
}

/** Starts a server and waits for the page address on its stderr. */
export async function inspected(args: readonly string[]): Promise<Inspected> {
  const server = launch(args);
  const address = /http:\/\/127\.0\.0\.1:\d+\/\S+\//;
  const url = await new Promise<string>((resolve, reject) => {
    const look = () => {
      const found = address.exec(server.stderr)?.[0];
      if (found !== undefined) resolve(found);
    };
    server.child.stderr.on('data', look);
    void server.exit.then(() => reject(new Error(`It ended: ${server.stderr}`)));
  });
  return { server, url };
}

export interface OpenPage {
  readonly page: Page;
  /** Requests to other origins, and errors on the console. */
  readonly faults: readonly string[];
}

/** Opens the page for the duration of the test and waits until it is live. */
export async function open(url: string, options: BrowserContextOptions = {}): Promise<OpenPage> {
  const context = await newContext(options);
  const { origin } = new URL(url);
  const faults: string[] = [];
  await context.route('**', (route) => {
    const wanted = route.request().url();
    if (wanted.startsWith(origin)) return route.continue();
    faults.push(`asked for ${wanted}`);
    return route.abort();
  });
  const page = await context.newPage();
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') faults.push(message.text());
  });
  page.on('pageerror', (error) => faults.push(String(error)));
  await page.goto(url);
  await page.locator('#connection[data-connection=live]').waitFor();
  return { page, faults };
}
