/** The list of nodes that requests may be forwarded to. */

// Not an import: bundles for the web contain this module too, and cannot resolve Node's.
const { BlockList, isIP } = process.getBuiltinModule('node:net');

/**
 * Reads a list of hosts: names or addresses, with a port or without, and networks such as `10.0.0.0/8`.
 *
 * @returns true for a URL whose host is on the list
 * @throws {TypeError} naming what is no host
 */
export function allowedPeers(peers: readonly string[]): (url: string) => boolean {
  const networks = new BlockList();
  const hosts = new Set<string>();
  for (const peer of peers) {
    const [, address = '', prefix] = /^([^/]+)\/(\d{1,3})$/.exec(peer) ?? [];
    const version = isIP(address);
    if (version !== 0 && Number(prefix) <= (version === 4 ? 32 : 128)) {
      networks.addSubnet(address, Number(prefix), version === 4 ? 'ipv4' : 'ipv6');
    } else if (URL.canParse(`http://${peer}`) && !peer.includes('/')) hosts.add(peer.toLowerCase());
    else {
      const got = JSON.stringify(peer.slice(0, 100));
      throw new TypeError(
        `node.peers must have hosts or networks, such as "node-1.internal", "10.0.0.7:3000" or "10.0.0.0/8", got ${got}`,
      );
    }
  }
  return (url) => {
    const { host, hostname } = new URL(url);
    const address = hostname.replace(/^\[(.*)\]$/, '$1');
    const version = isIP(address);
    if (hosts.has(host) || hosts.has(hostname)) return true;
    return version !== 0 && networks.check(address, version === 4 ? 'ipv4' : 'ipv6');
  };
}
