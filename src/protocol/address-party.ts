/** Whose share of the bounds an unauthorized request counts towards. */

/** The address that was asked for last: most requests of a connection come in a row. */
let lastAddress = { address: '', party: '' };

/**
 * The party of an address. A client that has one address of IPv6 has all of its /64, so they are one
 * party. IPv4 addresses that are mapped into IPv6 are those of IPv4.
 */
export function addressParty(address = 'unknown'): string {
  if (!address.includes(':')) return address;
  if (lastAddress.address !== address) lastAddress = { address, party: networkOf(address) };
  return lastAddress.party;
}

function networkOf(address: string): string {
  const [bare = ''] = address.toLowerCase().split('%');
  const mapped = /^(?:0{0,4}:){2,5}(?::|0{1,4}:)?ffff:(\d+\.\d+\.\d+\.\d+)$/.exec(bare)?.[1];
  if (mapped !== undefined) return mapped;
  const [head = '', tail] = bare.split('::');
  const [before, after] = [groupsOf(head), groupsOf(tail)];
  const left = tail === undefined ? 0 : Math.max(0, 8 - before.length - after.length);
  const groups = [...before, ...Array.from({ length: left }, () => 0), ...after];
  if (groups.length !== 8 || groups.some((group) => !(group <= 0xffff))) return address;
  const [, , , , , marker, high = 0, low = 0] = groups;
  if (marker === 0xffff && groups.slice(0, 5).every((group) => group === 0)) {
    return [high >> 8, high & 0xff, low >> 8, low & 0xff].join('.');
  }
  return `${groups
    .slice(0, 4)
    .map((group) => group.toString(16))
    .join(':')}::/64`;
}

function groupsOf(text = ''): readonly number[] {
  return text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16));
}
