/** Opens what keeps the sessions over HTTP of a process: where its tasks are kept. */
import { defaultHttpLimits } from '../../http/src/options.ts';
import type { HttpLimits } from '../../http/src/options.ts';
import type { Stores } from '../../http/src/nodes/stores.ts';
import { serverStores } from '../../nodes/src/server-stores.ts';
import { textSealer } from '../../../src/rounds/request-state.ts';
import type { McpServer } from '../../../src/server/create-server.ts';
import { environmentKeys } from '../../../src/server/server-core.ts';
import { placeOf } from './open-task-worker.ts';

/**
 * @param durable a directory, `postgres://…` or `redis://…`
 * @throws {Error} the store cannot be used
 */
export async function openStores(
  durable: string,
  { definition }: McpServer,
  given: Partial<HttpLimits> = {},
): Promise<Stores> {
  const endpoint = { ...defaultHttpLimits, ...given };
  const limits = {
    idleMs: endpoint.sessionIdleTimeoutMs,
    maxEvents: endpoint.maxEvents,
    maxBytes: endpoint.maxEventBytes,
    maxAgeMs: endpoint.eventTtlMs,
  };
  const { name: server, stateKeys = environmentKeys() ?? [] } = definition;
  const sealer = stateKeys.length > 0 ? textSealer(stateKeys) : undefined;
  return serverStores(await placeOf(durable).sessions(limits), { server, sealer });
}
