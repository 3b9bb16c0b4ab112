import { environmentKeys } from '../../server/server-core.ts';
import type { McpServer } from '../../server/create-server.ts';
import { tell } from '../facts.ts';
import type { HttpReport } from '../facts.ts';
import type { Served, ServerOf } from '../options.ts';

/**
 * Warns once if nodes seal the states of 2026-07-28 each with a key of its own: what a call asks its
 * client would come back to a node that cannot read it. One server for all is looked at when the
 * endpoint begins, and one that is made for a request when it is made.
 */
export function withKeysChecked<TArgs extends readonly unknown[]>(
  server: ServerOf,
  servedTo: (...args: TArgs) => Served,
  report: HttpReport,
): (...args: TArgs) => Served {
  if (typeof server !== 'function') {
    if (!hasKeys(server)) warn(report);
    return servedTo;
  }
  let checked: McpServer | undefined = undefined;
  return (...args) => {
    const served = servedTo(...args);
    if (!checked && !hasKeys(served.server)) warn(report);
    checked ??= served.server;
    return served;
  };
}

function hasKeys({ definition }: McpServer): boolean {
  return (definition.stateKeys ?? environmentKeys()) !== undefined;
}

function warn(report: HttpReport): void {
  const message =
    'Nodes share their sessions, but each seals the states of calls with a key of its own: set stateKeys of the server, or MCP_STATE_KEYS, to the same for all';
  tell(report, 'warning', 'stateKeys.missing', message);
}
