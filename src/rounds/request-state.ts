/**
 * The `requestState` that travels through the client between two rounds of a call. It is encrypted
 * and authenticated (JWE, `dir` with A256GCM), so the client can neither read nor change it.
 *
 * @see MCP 2026-07-28, basic/patterns/mrtr, "Server Requirements (Basic Workflow)"
 */
import { invalidParams } from '../protocol/errors.ts';
import type { ProtocolError } from '../protocol/errors.ts';
import type { JsonObject } from '../protocol/frames.ts';
import { numberText, numberTexts } from '../protocol/number-text.ts';

/** An input request, as recorded in the state. */
export interface RecordedInputRequest {
  /** Key in `inputRequests`. */
  readonly key: string;
  /** Digest of method and params. */
  readonly print: string;
  /** Description for people. */
  readonly label: string;
  /** The client's answer; undefined until it arrives. */
  readonly answer?: JsonObject;
  /** True for a URL that the handler requires to be opened before it runs again. */
  readonly isDemand?: true;
}

/** State of a call at the end of a round. Times are milliseconds since 1970. */
export interface RequestState {
  /** Version of this format. Other versions are rejected. */
  readonly version: 1;
  /** Unguessable id of the call. */
  readonly run: string;
  /** Number of rounds, including this one. */
  readonly round: number;
  readonly begunAt: number;
  readonly expiresAt: number;
  /** Principal id; null without authentication. */
  readonly principal: string | null;
  /** Digest of the call's method and params. */
  readonly request: string;
  /** All input requests, in order. */
  readonly questions: readonly RecordedInputRequest[];
  /** Values of `context.once`, by key. */
  readonly kept: readonly (readonly [key: string, value: unknown])[];
  /** The handler's checkpoint, from which it resumes. */
  readonly checkpoint?: unknown;
  /** The only node that can resume the call; undefined if any can. */
  readonly node?: string | undefined;
}

/**
 * Encrypts and decrypts request states. Asynchronous and random, so it belongs to the session's
 * environment, which a recording can replace.
 */
export interface StateSealer {
  seal(state: RequestState): Promise<string>;
  /** @returns undefined unless this server sealed the token with one of its keys */
  open(token: string): Promise<RequestState | undefined>;
  /** See {@link digestOf}. */
  digest(value: unknown): Promise<string>;
  /** Resolves after all pending promise callbacks have run. */
  turn(): Promise<void>;
}

/** The state and the name of the server that sealed it. */
interface SealedState extends RequestState {
  readonly audience: string;
}

const keyBytes = 32;
const method = { alg: 'dir', enc: 'A256GCM' } as const;

/**
 * Encrypts with the first key and decrypts with any. To rotate keys, prepend the new one and remove
 * the old one once its states have expired.
 *
 * @param audience the server's name: other servers with the same keys cannot open its states
 * @param keys base64, base64url or hex, 32 bytes each. Default: a random key for this process
 * @throws {TypeError} naming the invalid key
 */
export function stateSealer(audience: string, keys: readonly string[] = []): StateSealer {
  const box = textSealer(keys);
  return {
    seal: ({ node, ...state }) => box.seal(JSON.stringify({ ...state, audience }), node),
    async open(token) {
      const text = await box.open(token);
      if (text === undefined) return undefined;
      const state = JSON.parse(text) as SealedState;
      return state.version === 1 && state.audience === audience ? state : undefined;
    },
    digest: digestOf,
    turn: async () => void (await digestOf(null)),
  };
}

/** Encrypts and authenticates texts. */
export interface TextSealer {
  /** @param node stored in the header, unencrypted but authenticated: see {@link nodeOf} */
  seal(text: string, node?: string): Promise<string>;
  /** @returns undefined unless the token was sealed with one of the keys */
  open(token: string): Promise<string | undefined>;
}

/** See {@link stateSealer}. */
export function textSealer(keys: readonly string[]): TextSealer {
  const given = keys.map((key, at) => readKey(key, at));
  // Created on first use: random bytes load Node's crypto module.
  let made: readonly Uint8Array[] | undefined;
  const all = () =>
    (made ??= given.length > 0 ? given : [crypto.getRandomValues(new Uint8Array(keyBytes))]);
  return {
    async seal(text, node) {
      const { CompactEncrypt } = await import('jose');
      const [key] = all() as readonly [Uint8Array];
      const bytes = new TextEncoder().encode(text);
      const header = node === undefined ? method : { ...method, node };
      return new CompactEncrypt(bytes).setProtectedHeader(header).encrypt(key);
    },
    async open(token) {
      const { compactDecrypt } = await import('jose');
      for (const key of all()) {
        try {
          const { plaintext } = await compactDecrypt(token, key, {
            keyManagementAlgorithms: [method.alg],
            contentEncryptionAlgorithms: [method.enc],
          });
          return new TextDecoder().decode(plaintext);
        } catch {
          // Try the next key. If none fits, the token was not sealed here; the sender learns
          // nothing else.
        }
      }
      return undefined;
    },
  };
}

/**
 * The node named by a sealed state, for nodes that forward the request. Reading it takes no key;
 * the node that opens the state verifies it.
 *
 * @returns undefined if the token names no node or is not a sealed state
 */
export function nodeOf(token: unknown): string | undefined {
  if (typeof token !== 'string') return undefined;
  const header = token.slice(0, maxHeaderLength).split('.', 1)[0] ?? '';
  try {
    const text = atob(header.replaceAll('-', '+').replaceAll('_', '/'));
    const { node } = JSON.parse(text) as { readonly node?: unknown };
    return typeof node === 'string' ? node : undefined;
  } catch {
    return undefined;
  }
}

/** Upper bound of our header length, UTF-16 units. */
const maxHeaderLength = 256;

function readKey(key: string, at: number): Uint8Array {
  const bytes = /^[0-9a-f]{64}$/i.test(key) ? fromHex(key) : fromBase64(key);
  if (bytes?.length === keyBytes) return bytes;
  const got = bytes ? `got ${bytes.length} bytes` : 'got neither';
  throw new TypeError(
    `Key ${at + 1} for request states must be ${keyBytes} bytes in base64 or hex, ${got}`,
  );
}

function fromHex(text: string): Uint8Array {
  return Uint8Array.from(text.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
}

function fromBase64(text: string): Uint8Array | undefined {
  try {
    const plain = atob(text.replaceAll('-', '+').replaceAll('_', '/'));
    return Uint8Array.from(plain, (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}

/** The one error for all rejected states, so that a forger learns nothing. */
export function invalidStateError(): ProtocolError {
  return invalidParams(
    '"requestState" is invalid or has expired; send the request again without it',
  );
}

/** A digest that ignores the order of keys: base64url SHA-256 of the JSON with sorted members. */
export async function digestOf(value: unknown): Promise<string> {
  const text = new TextEncoder().encode(JSON.stringify(value, sortMembers) ?? 'undefined');
  const bytes = new Uint8Array(await crypto.subtle.digest('SHA-256', text));
  const base64 = btoa(String.fromCharCode(...bytes));
  return base64.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

function sortMembers(_key: string, value: unknown): unknown {
  const exact = numberTexts.kept && numberText(value);
  if (exact !== undefined) return exact;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  // Unlike assignment, this also copies a member named `__proto__`.
  return Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
