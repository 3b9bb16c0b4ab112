import { environmentKeys } from '../../server/server-core.ts';
import type { McpServer } from '../../server/create-server.ts';
import { tell } from '../facts.ts';
import type { HttpReport } from '../facts.ts';
import type { Served } from '../options.ts';

/**
 * Warns once if nodes seal the states of 2026-07-28 each with a key of its own: what a call asks its
 * client would come back to a node that cannot read it.
 */
export function withKeysChecked<TArgs extends readonly unknown[]>(
  servedTo: (...args: TArgs) => Served,
  report: HttpReport,
): (...args: TArgs) => Served {
  let checked: McpServer | undefined = undefined;
  return (...args) => {
    const served = servedTo(...args);
    if (!checked && !(served.server.definition.stateKeys ?? environmentKeys())) {
      const message =
        'Nodes share their sessions, but each seals the states of calls with a key of its own: set stateKeys of the server, or MCP_STATE_KEYS, to the same for all';
      tell(report, 'warning', 'stateKeys.missing', message);
    }
    checked ??= served.server;
    return served;
  };
}
