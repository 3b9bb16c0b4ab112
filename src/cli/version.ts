/** The package's version. */
import { readFileSync } from 'node:fs';

/** Put in by the build; absent where the source runs as it is. */
declare const __VERSION__: string | undefined;

/** The package's version, from its `package.json`. */
export function packageVersion(): string {
  if (typeof __VERSION__ === 'string') return __VERSION__;
  const manifest = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  return (JSON.parse(manifest) as { readonly version: string }).version;
}
