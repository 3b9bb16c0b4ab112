/** The resource `bridge://servers`: the state of each server for a client, since when and why. */
import type { Clock } from '../../../src/actors/clock.ts';
import type { HostedServer } from '../../client/src/hosts/server-entry.ts';
import { redactText } from '../../diagnostics/src/redaction.ts';
import type { JsonObject } from '../../../src/protocol/frames.ts';
import type { ServerState } from '../../../src/protocol/implementation.ts';
import type { ManagedServer } from './managed-server.actor.ts';

export const serversUri = 'bridge://servers';

/** The resource's list entry. */
export const serversResource: JsonObject = {
  uri: serversUri,
  name: 'servers',
  title: 'The servers behind this bridge',
  description:
    'Each server with its state (opening, ready, lost, failed, resting, disabled or faulty), since when, and why it cannot be used',
  mimeType: 'application/json',
};

/** Entry of one server. */
export interface ServerReport extends ServerState {
  /** Name and version of the server. */
  readonly server?: string;
  readonly tools?: number;
  /** Hidden tools, with the reason. */
  readonly heldBack?: readonly { readonly tool: string; readonly why: string }[];
}

/** Reports all servers of a configuration for one client. */
export function reportServers(
  servers: ReadonlyMap<string, HostedServer>,
  running: ReadonlyMap<string, ManagedServer>,
  clock: Clock,
): readonly ServerReport[] {
  return [...servers].map(([name, server]) => {
    const managed = running.get(name);
    if (managed) return { name, ...statusOf(managed, clock) };
    if (server.kind !== 'invalid') return { name, state: 'disabled' };
    return { name, state: 'faulty', why: server.faults.map(({ message }) => message).join('; ') };
  });
}

function statusOf(managed: ManagedServer, clock: Clock): Omit<ServerReport, 'name'> {
  const { state, since, error } = managed.status;
  const info = managed.usable?.serverInfo;
  const tools = managed.known('tools')?.items.length;
  const heldBack = managed.usable?.heldBack?.() ?? [];
  return {
    state,
    since: new Date(Date.now() - (clock.now() - since)).toISOString(),
    ...(error ? { why: redactText(error.message, 500) } : {}),
    ...(info ? { server: `${info.name} ${info.version}` } : {}),
    ...(tools === undefined ? {} : { tools }),
    ...(heldBack.length > 0 ? { heldBack } : {}),
  };
}
