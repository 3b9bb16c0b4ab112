/** Which user is at the other end of a local connection, if the system tells. */
import { readFile } from 'node:fs/promises';

/** Whose the other end is. */
export type PeerOwner =
  | { readonly kind: 'same-user' }
  | { readonly kind: 'other-user'; readonly uid: number }
  /** The system does not tell; only Linux does. */
  | { readonly kind: 'unknown' };

/** The ports of a connection, as this end sees them. */
export interface Ports {
  readonly localPort?: number | undefined;
  readonly remotePort?: number | undefined;
}

const unknown: PeerOwner = { kind: 'unknown' };
/** The state of a socket that is gone; the kernel keeps its row and names root as the owner. */
const timeWait = '06';

/**
 * Looks for the other end's socket in the kernel's tables. Call it once the other end has
 * answered: a socket that is not accepted yet has no owner. Never rejects.
 */
export async function ownerOfPeer(ports: Ports): Promise<PeerOwner> {
  const { geteuid } = process;
  if (!geteuid) return unknown;
  const tables = await Promise.all(
    // Two families: a socket that listens on "::" takes connections from 127.0.0.1, too.
    ['/proc/self/net/tcp', '/proc/self/net/tcp6'].map((path) =>
      readFile(path, 'latin1').catch(() => ''),
    ),
  );
  return ownerIn(tables.join('\n'), ports, geteuid());
}

/**
 * Finds the owner in the text of such tables.
 *
 * @param uid this user's id
 */
export function ownerIn(tables: string, { localPort, remotePort }: Ports, uid: number): PeerOwner {
  if (localPort === undefined || remotePort === undefined) return unknown;
  const [here, there] = [hexadecimal(remotePort), hexadecimal(localPort)];
  const owners = tables.split('\n').flatMap((row) => {
    // There may be tens of thousands of rows; few have this port.
    if (!row.includes(there)) return [];
    const [, local = '', remote = '', state, , , , owner] = row.trim().split(/\s+/);
    const isPeer = local.endsWith(here) && remote.endsWith(there) && state !== timeWait;
    return isPeer ? [Number(owner)] : [];
  });
  // A second row with the same ports has other addresses. We do not look up which one is ours: all
  // of them must be this user's.
  const other = owners.find((owner) => owner !== uid);
  if (other !== undefined) return { kind: 'other-user', uid: other };
  return owners.length === 0 ? unknown : { kind: 'same-user' };
}

function hexadecimal(port: number): string {
  return `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
}
