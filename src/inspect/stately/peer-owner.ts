/** Who is at the other end of a connection within this machine, as far as the system tells. */
import { readFile } from 'node:fs/promises';

/** The user who runs the other end. */
export type PeerOwner =
  | { readonly kind: 'same-user' }
  | { readonly kind: 'other-user'; readonly uid: number }
  /** The system does not tell, as anywhere but on Linux. */
  | { readonly kind: 'unknown' };

/** The ports of a connection, seen from this end. */
export interface Ports {
  readonly localPort?: number | undefined;
  readonly remotePort?: number | undefined;
}

const unknown: PeerOwner = { kind: 'unknown' };
/** Its socket is gone; the kernel keeps the row and says that root owns it. */
const timeWait = '06';

/** Looks for the other end's socket in the kernel's tables, once it has answered: one that nobody has accepted has no owner yet. Never rejects. */
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
 * Reads the same in the text of such tables.
 *
 * @param uid who "the same user" is
 */
export function ownerIn(tables: string, { localPort, remotePort }: Ports, uid: number): PeerOwner {
  if (localPort === undefined || remotePort === undefined) return unknown;
  const [here, there] = [hexadecimal(remotePort), hexadecimal(localPort)];
  const owners = tables.split('\n').flatMap((row) => {
    // There may be tens of thousands; few have this port.
    if (!row.includes(there)) return [];
    const [, local = '', remote = '', state, , , , owner] = row.trim().split(/\s+/);
    const isPeer = local.endsWith(here) && remote.endsWith(there) && state !== timeWait;
    return isPeer ? [Number(owner)] : [];
  });
  // A second row with the same ports is of other addresses. Which of them is ours is not looked up: all have to be this user's.
  const other = owners.find((owner) => owner !== uid);
  if (other !== undefined) return { kind: 'other-user', uid: other };
  return owners.length === 0 ? unknown : { kind: 'same-user' };
}

function hexadecimal(port: number): string {
  return `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
}
