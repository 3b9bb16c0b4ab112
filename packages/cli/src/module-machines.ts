/** State machines of a module: exported ones and those of machine tools. */
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { quoted, serving } from 'mcp-actors/internal';
import type { DrawnMachine } from '@mcp-actors/inspector/diagrams';
import { UsageError } from './command.ts';

/**
 * Loads the module and returns its machines: a tool's by the tool's name, others by id. A call of
 * `serve` in the module is intercepted.
 *
 * @throws {UsageError} if it cannot be loaded or has no machine
 */
export async function machinesIn(file: string): Promise<ReadonlyMap<string, DrawnMachine>> {
  const { href } = pathToFileURL(resolve(file));
  let loaded: object;
  try {
    loaded = await serving.runOrServe<object>(() => import(href) as Promise<object>);
  } catch (error) {
    throw new UsageError(`${quoted(file)} cannot be loaded: ${whyNot(error)}`, { cause: error });
  }
  // The intercepted server or the module's exports.
  const values: readonly unknown[] = [loaded, ...(Object.values(loaded) as readonly unknown[])];
  const machines = new Map<string, DrawnMachine>();
  for (const tool of [...values, ...values.flatMap(toolsOf)]) {
    const { name, machine } = membersOf(tool);
    if (typeof name === 'string' && isMachine(membersOf(machine))) {
      machines.set(name, machine as DrawnMachine);
    }
  }
  const drawn = new Set(machines.values());
  for (const value of values.map(membersOf)) {
    if (isMachine(value) && !drawn.has(value)) machines.set(value.id, value);
  }
  if (machines.size > 0) return machines;
  throw new UsageError(
    `${quoted(file)} has no machine: export a machine, a machine tool, or a server with one`,
  );
}

/** Tools of a server. */
function toolsOf(value: unknown): readonly unknown[] {
  const { tools } = membersOf(membersOf(value)['definition']);
  return Array.isArray(tools) ? (tools as readonly unknown[]) : [];
}

/** True for a machine, detected by shape because packages may have different copies of XState. */
function isMachine(value: object): value is DrawnMachine {
  return 'implementations' in value && 'transition' in value;
}

function membersOf(value: unknown): { readonly [member: string]: unknown } {
  return typeof value === 'object' && value !== null
    ? (value as { [member: string]: unknown })
    : {};
}

function whyNot(error: unknown): string {
  const { code, message } = membersOf(error);
  return code === 'ERR_UNKNOWN_FILE_EXTENSION'
    ? "this Node cannot run TypeScript; use tsx: NODE_OPTIONS='--import tsx'"
    : `${String(message ?? error)}`;
}
