/** The version of this package. */
import { readFileSync } from 'node:fs';

/** Inserted by the build; absent when running from sources. */
declare const __VERSION__: string | undefined;

/** The package's version, from its `package.json`. */
export function packageVersion(): string {
  if (typeof __VERSION__ === 'string') return __VERSION__;
  const manifest = readFileSync(new URL('../../../package.json', import.meta.url), 'utf8');
  return (JSON.parse(manifest) as { readonly version: string }).version;
}
