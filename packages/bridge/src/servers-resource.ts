/** `bridge://servers`: where each server of a bridge stands for a client, since when and why. */
import type { Clock } from '../../../src/actors/clock.ts';
import type { HostedServer } from '../../client/src/hosts/server-entry.ts';
import { redactText } from '../../diagnostics/src/redaction.ts';
import type { JsonObject } from '../../../src/protocol/frames.ts';
import type { ServerState } from '../../../src/protocol/implementation.ts';
import type { ManagedServer } from './managed-server.actor.ts';

export const serversUri = 'bridge://servers';

/** As it is listed. */
export const serversResource: JsonObject = {
  uri: serversUri,
  name: 'servers',
  title: 'The servers behind this bridge',
  description:
    'Each server with its state (opening, ready, lost, failed, resting, disabled or faulty), since when, and why it cannot be used',
  mimeType: 'application/json',
};

/** One server as the resource has it. */
export interface ServerReport extends ServerState {
  /** How it calls itself. */
  readonly server?: string;
  readonly tools?: number;
  /** The tools that are not offered, with why. */
  readonly heldBack?: readonly { readonly tool: string; readonly why: string }[];
}

/** All servers of a configuration, as one client has them. */
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
