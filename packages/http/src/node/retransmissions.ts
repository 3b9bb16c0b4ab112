/**
 * Detects connections whose peer has vanished, so that nothing is acknowledged. Linux retransmits
 * for a quarter of an hour before it gives up, and Node cannot change that; but Linux lists the
 * connections it retransmits on.
 *
 * @see https://docs.kernel.org/networking/proc_net_tcp.html
 */
import { open } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { endianness } from 'node:os';
import { addressBytes } from '../../../../src/protocol/address-key.ts';

/** The system's connection tables. */
const systemTables = process.platform === 'linux' ? ['/proc/net/tcp', '/proc/net/tcp6'] : [];

/** Maximum bytes read of a table: about 100,000 connections. */
const maxTableBytes = 16 * 1024 ** 2;
/** Read buffer, bytes. Linux returns one page per read. */
const pieceBytes = 64 * 1024;

/** A connection that retransmits without further acknowledgements. */
interface Silence {
  /** Bytes acknowledged when first seen. */
  readonly acknowledgedBytes: number;
  readonly firstSeenMs: number;
  readonly lastSeenMs: number;
}

export class Retransmissions {
  readonly #intervalMs: number;
  readonly #tables: readonly string[];
  #state: 'resting' | 'looking' = 'resting';
  #scannedAtMs = -Infinity;
  /** Bytes written to each connection when the last scan started. */
  #written = new Map<Socket, number>();
  #silences = new WeakMap<Socket, Silence>();

  /**
   * @param intervalMs minimum time between scans
   * @param tables files in the format of Linux's `/proc/net/tcp`
   */
  constructor(intervalMs: number, tables: readonly string[] = systemTables) {
    this.#intervalMs = intervalMs;
    this.#tables = tables;
  }

  /**
   * How long the system has been seen retransmitting without an acknowledgement, milliseconds.
   * Starts a scan if the last one is too old; the result is that of the previous scan.
   *
   * @param now same value for all connections queried in one turn
   */
  unacknowledgedMs(socket: Socket, now: number): number {
    if (this.#state === 'resting' && now - this.#scannedAtMs >= this.#intervalMs)
      void this.scan(now);
    // Bytes written after the table was read would look acknowledged.
    if (now === this.#scannedAtMs) this.#written.set(socket, socket.bytesWritten);
    const silence = this.#silences.get(socket);
    return silence ? silence.lastSeenMs - silence.firstSeenMs : 0;
  }

  /** Scans now, for the connections queried with the same `now` in the same turn. */
  async scan(now: number): Promise<void> {
    this.#state = 'looking';
    this.#scannedAtMs = now;
    this.#written.clear();
    const unacknowledged = new Map<string, number>();
    for (const table of this.#tables) await readTable(table, unacknowledged);
    this.#silences = this.#silencesAt(unacknowledged, now);
    this.#written.clear();
    this.#state = 'resting';
  }

  #silencesAt(unacknowledged: ReadonlyMap<string, number>, now: number): WeakMap<Socket, Silence> {
    const silences = new WeakMap<Socket, Silence>();
    // Compares ports first: few connections are listed, and formatting addresses is slower.
    const ports = new Set<number | undefined>();
    for (const ends of unacknowledged.keys()) ports.add(Number.parseInt(ends.slice(-4), 16));
    for (const [socket, written] of this.#written) {
      const bytes = ports.has(socket.remotePort) ? unacknowledged.get(endsOf(socket)) : undefined;
      if (bytes === undefined) continue;
      const acknowledgedBytes = written - bytes;
      const before = this.#silences.get(socket);
      const goesOn = before && before.acknowledgedBytes >= acknowledgedBytes;
      const silence = goesOn ? before : { acknowledgedBytes, firstSeenMs: now };
      silences.set(socket, { ...silence, lastSeenMs: now });
    }
    return silences;
  }
}

/** Adds the retransmitting connections of a table, with their unacknowledged bytes. */
async function readTable(table: string, unacknowledged: Map<string, number>): Promise<void> {
  try {
    await using file = await open(table);
    const piece = Buffer.alloc(pieceBytes);
    let rest = '';
    for (let read = 0; read < maxTableBytes;) {
      const { bytesRead } = await file.read(piece);
      if (bytesRead === 0) return;
      read += bytesRead;
      const rows = `${rest}${piece.toString('latin1', 0, bytesRead)}`.split('\n');
      rest = rows.pop() ?? '';
      for (const row of rows) readRow(row, unacknowledged);
    }
  } catch {
    // The table is missing without IPv6 and in sandboxes; the system's own timeout applies then.
  }
}

function readRow(row: string, unacknowledged: Map<string, number>): void {
  // Other rows have no unacknowledged data, or only a keepalive probe.
  if (!row.includes(' 01:') && !row.includes(' 04:')) return;
  const fields = row.trim().split(/ +/);
  const [, local, remote, , queues = '', timer = '', resent = '', , probes] = fields;
  // A peer with a full window acknowledges nothing either, but answers probes. One probe may be in
  // flight.
  const isUnanswered = timer.startsWith('01:')
    ? Number.parseInt(resent, 16) > 0
    : Number(probes) > 1;
  if (isUnanswered) unacknowledged.set(`${local} ${remote}`, Number.parseInt(queues, 16));
}

/** Both ends of a connection in the table's format. */
function endsOf({ localAddress, localPort, remoteAddress, remotePort }: Socket): string {
  return `${endOf(localAddress, localPort)} ${endOf(remoteAddress, remotePort)}`;
}

function endOf(address = '', port = 0): string {
  const bytes = Buffer.from(addressBytes(address));
  // 32-bit words in machine byte order.
  if (endianness() === 'LE') bytes.swap32();
  const hex = `${bytes.toString('hex')}:${port.toString(16).padStart(4, '0')}`;
  return hex.toUpperCase();
}
