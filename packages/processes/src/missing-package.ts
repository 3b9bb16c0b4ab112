/** The error for an optional package that cannot be loaded: it says what to install, and where. */
import { existsSync } from 'node:fs';
import { join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * @param purpose what needs the package, such as `Tasks in Postgres need`
 * @param cause why it could not be loaded
 */
export function missingPackage(purpose: string, name: string, cause: unknown): Error {
  return new Error(`${purpose} the package ${name}: ${howToInstall(name)}`, { cause });
}

/** Node looks beside the files of this package, wherever the command was started. */
function howToInstall(name: string): string {
  const [folder, ...rest] = fileURLToPath(import.meta.url).split(`${sep}node_modules${sep}`);
  if (folder === undefined || rest.length === 0) return `run npm install ${name}`;
  const isProject = existsSync(join(folder, 'package.json'));
  return isProject ? `run npm install ${name} in ${folder}` : `run npm install --global ${name}`;
}
