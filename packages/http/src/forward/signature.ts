/**
 * The signature header of a forwarded request: what the first node checked, for which node, and
 * when. Only holders of a shared key can create or verify it.
 */
import type { KeyObject } from 'node:crypto';
import type { Principal } from '../../../../src/protocol/request-origin.ts';
import { protocolVersions } from '../nodes/forwarding-protocol.ts';
import type { ForwardedHead } from '../nodes/forwarding-protocol.ts';

// No static import, because web bundles include this module and cannot resolve Node's.
const { createHmac, createSecretKey, hash, timingSafeEqual } =
  process.getBuiltinModule('node:crypto');

/** Signing keys derived from the nodes' shared secrets. */
export function keysFrom(secrets: readonly string[]): readonly KeyObject[] {
  return secrets.map((secret) =>
    createSecretKey(createHmac('sha256', secret).update('mcp-actors forwarding').digest()),
  );
}

/** Digest of a body; empty for an empty body. */
export function digestOf(body: string): string {
  return body === '' ? '' : hash('sha256', body, 'base64url');
}

type Row = readonly [
  from: string,
  to: string,
  timeMs: number,
  method: string,
  target: string,
  sessionId: string | null,
  digest: string,
  remoteAddress: string | null,
  host: string | null,
  origin: string | null,
  principal: Principal | null,
  tokenValidMs: number | null,
];

/** Signs with every key, so that a node with only one of them accepts it during key rotation. */
export function sign(head: ForwardedHead, keys: readonly KeyObject[], version: number): string {
  const { from, to, timeMs, method, target, sessionId, digest, remoteAddress } = head;
  const { host, origin, principal, tokenValidMs } = head;
  const row: Row = [
    ...([from, to, Math.round(timeMs), method, target, sessionId ?? null, digest] as const),
    ...([remoteAddress ?? null, host ?? null, origin ?? null] as const),
    ...([principal ?? null, tokenValidMs ?? null] as const),
  ];
  const signed = `${version}.${Buffer.from(JSON.stringify(row)).toString('base64url')}`;
  return [signed, ...keys.map((key) => macOf(signed, key).toString('base64url'))].join('.');
}

/**
 * Result of verifying a header. `foreign`: not a signature of this protocol. `unsigned`: addressed
 * to a node but signed with none of the keys. `unknown`: signed, in an unsupported protocol
 * version.
 */
export type VerifiedHeader =
  | { readonly kind: 'signed'; readonly head: ForwardedHead }
  | { readonly kind: 'unsigned'; readonly to: string }
  | { readonly kind: 'foreign' }
  | { readonly kind: 'unknown' };

/** Generous limit for key rotation. */
const maxMacs = 8;

export function verify(header: string, keys: readonly KeyObject[]): VerifiedHeader {
  const [version = '', payload = '', ...macs] = header.split('.', 2 + maxMacs);
  const signed = `${version}.${payload}`;
  const isOurs = keys.some((key) => {
    const mac = macOf(signed, key);
    return macs.some((text) => {
      const given = Buffer.from(text, 'base64url');
      return given.length === mac.length && timingSafeEqual(given, mac);
    });
  });
  const row = isOurs || version === '1' ? parseRow(payload) : undefined;
  if (!isOurs) return row ? { kind: 'unsigned', to: String(row[1]) } : { kind: 'foreign' };
  const { oldest, newest } = protocolVersions;
  if (!(Number(version) >= oldest && Number(version) <= newest) || !row) return { kind: 'unknown' };
  return {
    kind: 'signed',
    head: {
      from: row[0],
      to: row[1],
      timeMs: row[2],
      method: row[3],
      target: row[4],
      sessionId: row[5] ?? undefined,
      digest: row[6],
      remoteAddress: row[7] ?? undefined,
      host: row[8] ?? undefined,
      origin: row[9] ?? undefined,
      principal: row[10] ?? undefined,
      tokenValidMs: row[11] ?? undefined,
    },
  };
}

const macOf = (text: string, key: KeyObject): Buffer =>
  createHmac('sha256', key).update(text).digest();

function parseRow(payload: string): Row | undefined {
  try {
    const row: unknown = JSON.parse(Buffer.from(payload, 'base64url').toString());
    return Array.isArray(row) ? (row as unknown as Row) : undefined;
  } catch {
    // Anyone can send such a header.
    return undefined;
  }
}
