/** Where the ripgrep binary is: in the registry package for this platform. */
import { realpath } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { disk } from 'mcp-actors/internal';
import { ToolError } from 'mcp-actors';

/**
 * Finds the binary. A failure is not remembered: the next call looks again.
 *
 * @throws {ToolError} SEARCH_UNAVAILABLE
 */
export async function findBinary(): Promise<string> {
  const target = `@vscode/ripgrep-${process.platform}-${process.arch}`;
  const binary = `bin/${process.platform === 'win32' ? 'rg.exe' : 'rg'}`;
  // By hand: Node remembers a module that it has not found, also if it could not look because no
  // file descriptor was left.
  const library = await findAbove(dirname(fileURLToPath(import.meta.url)), '@vscode/ripgrep');
  const found = library && (await findAbove(library, `${target}/${binary}`));
  if (found !== undefined) return found;
  try {
    // An installation without folders of modules: only the package itself knows.
    return (await import('@vscode/ripgrep')).rgPath;
  } catch (error) {
    const message = `Searching needs ripgrep, and there is no binary for ${process.platform} ${process.arch}: install the optional dependencies of mcp-actors`;
    throw new ToolError(message, { code: 'SEARCH_UNAVAILABLE', cause: error });
  }
}

/** The real path of what a module at `from` finds under a name, or undefined. */
async function findAbove(from: string, name: string): Promise<string | undefined> {
  for (let folder = from; ; folder = dirname(folder)) {
    try {
      return await realpath(join(folder, 'node_modules', name));
    } catch (error) {
      const { code, phrase } = disk.describeFsError(error);
      if (code !== 'NOT_FOUND' && code !== 'NOT_A_DIRECTORY') {
        const message = `Searching needs ripgrep, and ${join(folder, 'node_modules', name)} ${phrase}`;
        throw new ToolError(message, { code: 'SEARCH_UNAVAILABLE', cause: error });
      }
    }
    if (dirname(folder) === folder) return undefined;
  }
}
