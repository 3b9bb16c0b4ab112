/** Where the ripgrep binary is: in the registry package for this platform. */
import { open } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { ToolError } from '../protocol/errors.ts';
import { systemCode } from './fs-fault.ts';

/**
 * Finds the binary. A failure is not remembered: the next call looks again.
 *
 * @throws {ToolError} SEARCH_UNAVAILABLE: there is no binary for this platform, or the system cannot open files at the moment
 */
export async function findBinary(): Promise<string> {
  const require = createRequire(import.meta.url);
  const name = process.platform === 'win32' ? 'rg.exe' : 'rg';
  try {
    // Importing the package would do the same, but Node remembers an import that has failed.
    const beside = createRequire(require.resolve('@vscode/ripgrep'));
    return beside.resolve(`@vscode/ripgrep-${process.platform}-${process.arch}/bin/${name}`);
  } catch (error) {
    throw new ToolError(await explain(), { code: 'SEARCH_UNAVAILABLE', cause: error });
  }
}

/** Node says that a module is not there also when it could not look: without a free file descriptor, for one. */
async function explain(): Promise<string> {
  try {
    const handle = await open(fileURLToPath(import.meta.url));
    await handle.close();
  } catch (error) {
    const code = systemCode(error) ?? 'unknown error';
    return `Searching needs ripgrep, which cannot be looked for now, since this process cannot open files (${code}): try again later`;
  }
  return `Searching needs ripgrep, and there is no binary for ${process.platform} ${process.arch}: install the optional dependencies of mcp-actors`;
}
