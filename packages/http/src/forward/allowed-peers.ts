/** The allowlist of nodes that requests may be forwarded to. */

// No static import, because web bundles include this module and cannot resolve Node's.
const { BlockList, isIP } = process.getBuiltinModule('node:net');

/**
 * Parses a list of hosts, with or without a port, and networks such as `10.0.0.0/8`.
 *
 * @returns true for URLs whose host is on the list
 * @throws {TypeError} naming the invalid entry
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
        `node.peers must contain hosts or networks, such as "node-1.internal", "10.0.0.7:3000" or "10.0.0.0/8", got ${got}`,
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
