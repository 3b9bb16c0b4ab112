/** File types known to ripgrep: `ts` stands for `*.ts`, `*.tsx`, `*.mts`, `*.cts`. */
import { quoted } from 'mcp-actors/internal';
import type { RootDirectory } from 'mcp-actors/roots';
import { ToolError } from 'mcp-actors';
import { delimitedRecords } from './ripgrep-output.ts';
import { ripgrep } from './ripgrep.ts';

let known: ReadonlyMap<string, readonly string[]> | undefined;

/**
 * Returns the globs of file types.
 *
 * @throws {ToolError} UNKNOWN_TYPE with similar type names; errors of `ripgrep`
 */
export async function globsOfTypes(
  types: readonly string[],
  root: RootDirectory,
  signal: AbortSignal,
): Promise<readonly string[]> {
  if (types.length === 0) return [];
  known ??= await readTypes(root, signal);
  return types.flatMap((type) => known?.get(type) ?? unknown(type, [...(known?.keys() ?? [])]));
}

async function readTypes(root: RootDirectory, signal: AbortSignal) {
  const types = new Map<string, readonly string[]>();
  const args = ['--no-config', '--type-list'];
  for await (const { bytes } of ripgrep({ args, root, signal, records: delimitedRecords('\n') })) {
    const [name = '', globs = ''] = bytes.toString().trim().split(': ');
    types.set(name, globs.split(', '));
  }
  return types;
}

function unknown(type: string, names: readonly string[]): never {
  const alike = names.filter((name) => name.startsWith(type.slice(0, 1)) || type.startsWith(name));
  const some = (alike.length === 0 ? names : alike).slice(0, 40).join(', ');
  throw new ToolError(
    `${quoted(type)} is not a known file type. Known types: ${some}, … Alternatively use globs, such as "*.${type.replaceAll(/\W/g, '')}".`,
    { code: 'UNKNOWN_TYPE' },
  );
}
