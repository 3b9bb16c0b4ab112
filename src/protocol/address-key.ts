/** Quota keys of unauthenticated clients, by address. */

/** Cache of the last address, since requests of a connection come in a row. */
let lastAddress = { address: '', key: '' };

/**
 * Quota key of an address. An IPv6 client controls its whole /64, so the key is the network.
 * IPv4-mapped addresses count as IPv4.
 */
export function addressKey(address = 'unknown'): string {
  if (!address.includes(':')) return address;
  if (lastAddress.address !== address) lastAddress = { address, key: networkOf(address) };
  return lastAddress.key;
}

function networkOf(address: string): string {
  const bytes = addressBytes(address);
  if (bytes.length !== 16 || bytes.some((byte) => !(byte <= 0xff))) return address;
  const isMapped = bytes.slice(0, 12).every((byte, at) => byte === (at < 10 ? 0 : 0xff));
  if (isMapped) return bytes.slice(12).join('.');
  const groups = [0, 2, 4, 6].map((at) => ((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0));
  return `${groups.map((group) => group.toString(16)).join(':')}::/64`;
}

/**
 * The 4 or 16 bytes of an address. For other text, returns another length or values that are not
 * bytes.
 * @param address such as `10.0.0.1`, `::ffff:10.0.0.1` or `fe80::1%eth0`
 */
export function addressBytes(address: string): readonly number[] {
  const [bare = ''] = address.split('%', 1);
  const [before = [], after] = bare.split('::').map((part) => part.split(':').flatMap(groupBytes));
  if (!after) return before;
  const left = Math.max(0, 16 - before.length - after.length);
  return [...before, ...Array.from({ length: left }, () => 0), ...after];
}

function groupBytes(group: string): readonly number[] {
  if (group === '') return [];
  if (group.includes('.')) return group.split('.').map(Number);
  const value = Number.parseInt(group, 16);
  return [Math.floor(value / 256), value % 256];
}
