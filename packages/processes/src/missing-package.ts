/** Error for a missing optional package, with installation instructions. */
import { existsSync } from 'node:fs';
import { join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Code of the error for a missing package. Its message suffices, so the command prints no stack. */
const missingPackageCode = 'MISSING_PACKAGE';

/**
 * Creates the error for an optional package that cannot be loaded, with {@link missingPackageCode}.
 *
 * @param purpose subject and verb, such as `Tasks in Postgres need`
 * @param cause error of loading the package
 */
export function missingPackage(purpose: string, name: string, cause: unknown): Error {
  const message = `${purpose} the package ${name}: ${howToInstall(name)}`;
  return Object.assign(new Error(message, { cause }), { code: missingPackageCode });
}

/** Node resolves packages relative to this file, wherever the command was started. */
function howToInstall(name: string): string {
  const [folder, ...rest] = fileURLToPath(import.meta.url).split(`${sep}node_modules${sep}`);
  if (folder === undefined || rest.length === 0) return `run npm install ${name}`;
  const isProject = existsSync(join(folder, 'package.json'));
  return isProject ? `run npm install ${name} in ${folder}` : `run npm install --global ${name}`;
}
