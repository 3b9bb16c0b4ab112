/** Locates the ripgrep binary in the npm package for this platform. */
import { realpath } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { disk } from 'mcp-actors/internal';
import { ToolError } from 'mcp-actors';

/**
 * Finds the binary. Failures are not cached.
 *
 * @throws {ToolError} SEARCH_UNAVAILABLE
 */
export async function findBinary(): Promise<string> {
  const target = `@vscode/ripgrep-${process.platform}-${process.arch}`;
  const binary = `bin/${process.platform === 'win32' ? 'rg.exe' : 'rg'}`;
  // Search by hand, because Node caches failed resolutions even if they failed for lack of file
  // descriptors.
  const library = await findAbove(dirname(fileURLToPath(import.meta.url)), '@vscode/ripgrep');
  const found = library && (await findAbove(library, `${target}/${binary}`));
  if (found !== undefined) return found;
  try {
    // Installations without `node_modules` folders: only the package itself knows its path.
    return (await import('@vscode/ripgrep')).rgPath;
  } catch (error) {
    const message = `Ripgrep has no binary for ${process.platform} ${process.arch}, and searching needs it: install the optional dependencies of mcp-actors`;
    throw new ToolError(message, { code: 'SEARCH_UNAVAILABLE', cause: error });
  }
}

/** Real path that module resolution finds from a folder upward, or undefined. */
async function findAbove(from: string, name: string): Promise<string | undefined> {
  for (let folder = from; ; folder = dirname(folder)) {
    try {
      return await realpath(join(folder, 'node_modules', name));
    } catch (error) {
      const { code, phrase } = disk.describeFsError(error);
      if (code !== 'NOT_FOUND' && code !== 'NOT_A_DIRECTORY') {
        const message = `Ripgrep is needed for searching, but ${join(folder, 'node_modules', name)} ${phrase}`;
        throw new ToolError(message, { code: 'SEARCH_UNAVAILABLE', cause: error });
      }
    }
    if (dirname(folder) === folder) return undefined;
  }
}
