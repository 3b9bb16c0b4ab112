/**
 * Connections whose peer is gone without a word, so that nothing it is sent is acknowledged. Linux sends it
 * again for a quarter of an hour before it gives up, and Node cannot set another time. But Linux shows which
 * connections that happens on.
 *
 * @see https://docs.kernel.org/networking/proc_net_tcp.html
 */
import { open } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { endianness } from 'node:os';
import { addressBytes } from '../../../../src/protocol/address-party.ts';

/** Where the system shows its connections. */
const systemTables = process.platform === 'linux' ? ['/proc/net/tcp', '/proc/net/tcp6'] : [];

/** The most that is read of a table, bytes: some 100,000 connections. */
const maxTableBytes = 16 * 1024 ** 2;
/** The longest piece that is read at once, bytes. Linux gives a page. */
const pieceBytes = 64 * 1024;

/** Something was sent again, and the peer has acknowledged nothing more since it was seen first. */
interface Silence {
  /** What the peer had acknowledged, bytes. */
  readonly acknowledgedBytes: number;
  readonly firstSeenMs: number;
  readonly lastSeenMs: number;
}

export class Retransmissions {
  readonly #everyMs: number;
  readonly #tables: readonly string[];
  #state: 'resting' | 'looking' = 'resting';
  #begunAtMs = -Infinity;
  /** What was written to the connections when the last look began, bytes. */
  #written = new Map<Socket, number>();
  #silences = new WeakMap<Socket, Silence>();

  /**
   * @param everyMs how often it looks, if it is asked
   * @param tables files in the form of Linux' `/proc/net/tcp`
   */
  constructor(everyMs: number, tables: readonly string[] = systemTables) {
    this.#everyMs = everyMs;
    this.#tables = tables;
  }

  /**
   * For how long the system has been sending again what the peer does not acknowledge, as far as it was
   * seen, milliseconds. It looks anew if its last look is too old, and the answer is that of the look before.
   *
   * @param now the same for all connections that are asked for in one turn
   */
  unansweredMs(socket: Socket, now: number): number {
    if (this.#state === 'resting' && now - this.#begunAtMs >= this.#everyMs) void this.look(now);
    // What is written after the table was read would look as if it was acknowledged.
    if (now === this.#begunAtMs) this.#written.set(socket, socket.bytesWritten);
    const silence = this.#silences.get(socket);
    return silence ? silence.lastSeenMs - silence.firstSeenMs : 0;
  }

  /** Looks now, for the connections that are asked for with the same time and in the same turn. */
  async look(now: number): Promise<void> {
    this.#state = 'looking';
    this.#begunAtMs = now;
    this.#written.clear();
    const unacknowledged = new Map<string, number>();
    for (const table of this.#tables) await readTable(table, unacknowledged);
    this.#silences = this.#compared(unacknowledged, now);
    this.#written.clear();
    this.#state = 'resting';
  }

  #compared(unacknowledged: ReadonlyMap<string, number>, now: number): WeakMap<Socket, Silence> {
    const silences = new WeakMap<Socket, Silence>();
    // Few connections are in it, and addresses take longer to write than ports.
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

/** Adds the connections of a table on which something was sent again without an answer, and how much waits for one. */
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
    // Without IPv6 there is no such table, and a sandbox may show none: then the system's own time holds.
  }
}

function readRow(row: string, unacknowledged: Map<string, number>): void {
  // On the others nothing waits, or nothing but a keepalive probe.
  if (!row.includes(' 01:') && !row.includes(' 04:')) return;
  const fields = row.trim().split(/ +/);
  const [, local, remote, , queues = '', timer = '', resent = '', , probes] = fields;
  // A peer that has no room acknowledges nothing either, but answers probes. One may be on its way.
  const isUnanswered = timer.startsWith('01:')
    ? Number.parseInt(resent, 16) > 0
    : Number(probes) > 1;
  if (isUnanswered) unacknowledged.set(`${local} ${remote}`, Number.parseInt(queues, 16));
}

/** The two ends of a connection, as a row has them. */
function endsOf({ localAddress, localPort, remoteAddress, remotePort }: Socket): string {
  return `${endOf(localAddress, localPort)} ${endOf(remoteAddress, remotePort)}`;
}

function endOf(address = '', port = 0): string {
  const bytes = Buffer.from(addressBytes(address));
  // Words of 32 bits, in the machine's order.
  if (endianness() === 'LE') bytes.swap32();
  const hex = `${bytes.toString('hex')}:${port.toString(16).padStart(4, '0')}`;
  return hex.toUpperCase();
}
