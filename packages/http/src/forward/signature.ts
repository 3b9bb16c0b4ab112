/**
 * The header that a node signs a forwarded request with: what the first node has checked, for which node, when. Any node
 * that has the key believes it, and nobody else can make it.
 */
import type { KeyObject } from 'node:crypto';
import type { Principal } from '../../../../src/protocol/request-origin.ts';
import { protocolVersions } from '../nodes/forwarding-protocol.ts';
import type { ForwardedHead } from '../nodes/forwarding-protocol.ts';

// Not an import: bundles for the web contain this module too, and cannot resolve Node's.
const { createHmac, createSecretKey, hash, timingSafeEqual } =
  process.getBuiltinModule('node:crypto');

/** Keys to sign with, made of what the nodes have in common. */
export function keysFrom(secrets: readonly string[]): readonly KeyObject[] {
  return secrets.map((secret) =>
    createSecretKey(createHmac('sha256', secret).update('mcp-actors forwarding').digest()),
  );
}

/** The digest of a body; of none, an empty text. */
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

/** Signs with each key: while keys are rotated, a node that has only one of them believes it. */
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
 * What a header says. `foreign`: nothing of ours. `unsigned`: it is for a node, and none of the keys has signed it.
 * `unknown`: signed, in a version of the protocol that this code does not accept.
 */
export type Verified =
  | { readonly kind: 'signed'; readonly head: ForwardedHead }
  | { readonly kind: 'unsigned'; readonly to: string }
  | { readonly kind: 'foreign' }
  | { readonly kind: 'unknown' };

/** More keys than anybody rotates. */
const maxMacs = 8;

export function verify(header: string, keys: readonly KeyObject[]): Verified {
  const [version = '', payload = '', ...macs] = header.split('.', 2 + maxMacs);
  const signed = `${version}.${payload}`;
  const isOurs = keys.some((key) => {
    const mac = macOf(signed, key);
    return macs.some((text) => {
      const given = Buffer.from(text, 'base64url');
      return given.length === mac.length && timingSafeEqual(given, mac);
    });
  });
  const row = isOurs || version === '1' ? rowOf(payload) : undefined;
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

function rowOf(payload: string): Row | undefined {
  try {
    const row: unknown = JSON.parse(Buffer.from(payload, 'base64url').toString());
    return Array.isArray(row) ? (row as unknown as Row) : undefined;
  } catch {
    // Anybody may send such a header.
    return undefined;
  }
}
