import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { ownerIn, ownerOfPeer } from '../src/stately/peer-owner.ts';

/** A row of `/proc/net/tcp`: ports are 8080 (1F90) and 40000 (9C40). */
const row = (local: string, remote: string, state: string, uid: number) =>
  `   1: ${local} ${remote} ${state} 00000000:00000000 00:00000000 00000000  ${uid}        0 12345 1 0 20 4 30 10 -1`;
const head =
  '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode';
const [receiver, here] = ['0100007F:1F90', '0100007F:9C40'];
const ports = { localPort: 40_000, remotePort: 8080 };

describe('owner of a peer', () => {
  test.each([
    ['of this user', [row(receiver, here, '01', 1000)], { kind: 'same-user' }],
    ['of another', [row(receiver, here, '01', 1001)], { kind: 'other-user', uid: 1001 }],
    ['of root, who is another', [row(receiver, here, '01', 0)], { kind: 'other-user', uid: 0 }],
    [
      'half closed by another',
      [row(receiver, here, '05', 1001)],
      { kind: 'other-user', uid: 1001 },
    ],
    [
      'of another beside one of this user',
      [row('0100000A:1F90', '0200000A:9C40', '01', 1000), row(receiver, here, '01', 1001)],
      { kind: 'other-user', uid: 1001 },
    ],
    [
      'of IPv6',
      [row(`${'0'.repeat(32)}:1F90`, `${'0'.repeat(32)}:9C40`, '01', 1000)],
      { kind: 'same-user' },
    ],
    ['that is our own', [row(here, receiver, '01', 1000)], { kind: 'unknown' }],
    ['that is over', [row(receiver, here, '06', 0)], { kind: 'unknown' }],
    ['that only listens', [row(receiver, '00000000:0000', '0A', 1000)], { kind: 'unknown' }],
    ['that is in no table', [], { kind: 'unknown' }],
  ])('finds the owner in the table for a socket %s', (_, rows, owner) => {
    expect(ownerIn([head, ...rows, ''].join('\n'), ports, 1000)).toEqual(owner);
  });

  test.each(['127.0.0.1', '::1', '::'])(
    'reports the current user for a connection to %s within this process',
    async (address) => {
      const server = createServer((socket) => socket.write('accepted')).listen(0, address);
      onTestFinished(() => void server.close());
      await once(server, 'listening');
      const { port } = server.address() as AddressInfo;
      const socket = connect(port, address === '::1' ? '::1' : '127.0.0.1');
      onTestFinished(() => void socket.destroy());
      await once(socket, 'data');
      const expected = process.platform === 'linux' ? 'same-user' : 'unknown';
      expect(await ownerOfPeer(socket)).toEqual({ kind: expected });
    },
  );

  test('reports an unknown owner without a connection', async () => {
    expect(await ownerOfPeer({})).toEqual({ kind: 'unknown' });
  });
});
