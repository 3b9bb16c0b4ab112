/** Shows a URL to the person at this machine. */
import { spawn } from 'node:child_process';

/** The program that opens a URL, and what it is called with. No shell reads any of it. */
export function browserCommand(
  url: URL,
  environment: { readonly [name: string]: string | undefined } = process.env,
  platform: NodeJS.Platform = process.platform,
): readonly [command: string, ...args: string[]] {
  if (environment['BROWSER']) return [environment['BROWSER'], url.href];
  if (platform === 'darwin') return ['open', url.href];
  if (platform === 'win32') return ['rundll32', 'url.dll,FileProtocolHandler', url.href];
  return ['xdg-open', url.href];
}

/**
 * Opens the system's browser, or the program that `BROWSER` names. Resolves once that has started.
 *
 * @throws {TypeError} the URL is not one of the web
 * @throws {Error} there is no such program
 */
export async function openBrowser(url: URL): Promise<void> {
  if (url.protocol !== 'https:' && url.protocol !== 'http:') {
    throw new TypeError(`A browser is not opened for ${url.protocol}`);
  }
  const [command, ...args] = browserCommand(url);
  const child = spawn(command, args, { stdio: 'ignore', detached: true, windowsHide: true });
  await new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve);
    child.once('error', reject);
  });
  child.unref();
}
