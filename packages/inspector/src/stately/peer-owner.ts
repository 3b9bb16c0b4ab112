/** Determines the user at the other end of a local TCP connection. */
import { readFile } from 'node:fs/promises';

/** The owner of the other end. */
export type PeerOwner =
  | { readonly kind: 'same-user' }
  | { readonly kind: 'other-user'; readonly uid: number }
  /** The operating system does not reveal the owner. Only Linux does. */
  | { readonly kind: 'unknown' };

/** Ports of a connection, seen from this end. */
export interface Ports {
  readonly localPort?: number | undefined;
  readonly remotePort?: number | undefined;
}

const unknown: PeerOwner = { kind: 'unknown' };
/** TIME_WAIT: the socket is gone, but the kernel keeps its row with root as owner. */
const timeWait = '06';

/**
 * Finds the other end's socket in the kernel's tables. Call it once the peer has responded, because
 * a socket not yet accepted has no owner. Never rejects.
 */
export async function ownerOfPeer(ports: Ports): Promise<PeerOwner> {
  const { geteuid } = process;
  if (!geteuid) return unknown;
  const tables = await Promise.all(
    // Both families: a socket listening on "::" also accepts connections from 127.0.0.1.
    ['/proc/self/net/tcp', '/proc/self/net/tcp6'].map((path) =>
      readFile(path, 'latin1').catch(() => ''),
    ),
  );
  return ownerIn(tables.join('\n'), ports, geteuid());
}

/**
 * Finds the owner in the text of `/proc/net/tcp` tables.
 *
 * @param uid the current user's id
 */
export function ownerIn(tables: string, { localPort, remotePort }: Ports, uid: number): PeerOwner {
  if (localPort === undefined || remotePort === undefined) return unknown;
  const [here, there] = [hexadecimal(remotePort), hexadecimal(localPort)];
  const owners = tables.split('\n').flatMap((row) => {
    // Cheap test first: tables may have tens of thousands of rows.
    if (!row.includes(there)) return [];
    const [, local = '', remote = '', state, , , , owner] = row.trim().split(/\s+/);
    const isPeer = local.endsWith(here) && remote.endsWith(there) && state !== timeWait;
    return isPeer ? [Number(owner)] : [];
  });
  // Rows with the same ports but other addresses match too. Instead of comparing addresses, require
  // that the current user owns all of them.
  const other = owners.find((owner) => owner !== uid);
  if (other !== undefined) return { kind: 'other-user', uid: other };
  return owners.length === 0 ? unknown : { kind: 'same-user' };
}

function hexadecimal(port: number): string {
  return `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
}
