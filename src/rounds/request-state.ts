/**
 * The state that travels through the client between two rounds of a call, and how it is sealed. The
 * client can neither read nor change it: it is encrypted and authenticated (JWE, `dir` with
 * A256GCM).
 *
 * @see MCP 2026-07-28, basic/patterns/mrtr, "Server Requirements (Basic Workflow)"
 */
import { invalidParams } from '../protocol/errors.ts';
import type { ProtocolError } from '../protocol/errors.ts';
import type { JsonObject } from '../protocol/frames.ts';
import { numberText, numberTexts } from '../protocol/number-text.ts';

/** A question as the state remembers it. */
export interface RecordedInputRequest {
  /** Its key among the input requests. */
  readonly key: string;
  /** The digest of its method and params. */
  readonly print: string;
  /** For people: which question this was. */
  readonly label: string;
  /** The client's answer, once it has given one. */
  readonly answer?: JsonObject;
  /** The handler did not ask this: it refused to go on until the client has done it. */
  readonly isDemand?: true;
}

/** One call at the end of a round. Times are milliseconds since 1970. */
export interface RequestState {
  /** The format of this state. Other versions are refused. */
  readonly version: 1;
  /** The run that asked; unguessable. */
  readonly run: string;
  /** How many times the client has been asked, this time included. */
  readonly round: number;
  readonly begunAt: number;
  readonly expiresAt: number;
  /** The principal's id; null without authentication. */
  readonly principal: string | null;
  /** The digest of the method and of the params that the call was made with. */
  readonly request: string;
  /** All questions, in order. */
  readonly questions: readonly RecordedInputRequest[];
  /** What `context.once` has kept, by its key. */
  readonly kept: readonly (readonly [key: string, value: unknown])[];
  /** The handler's checkpoint: it resumes from here instead of its start. */
  readonly checkpoint?: unknown;
  /** The node that alone can go on with the call; undefined if any can. */
  readonly node?: string | undefined;
}

/**
 * Seals and opens the states of a server. This runs off the event loop and its seals are random, so
 * that all of it belongs to the session's environment, which a recording can replace.
 */
export interface StateSealer {
  seal(state: RequestState): Promise<string>;
  /** @returns undefined for anything that this server did not seal with one of these keys */
  open(token: string): Promise<RequestState | undefined>;
  /** See {@link digestOf}. */
  digest(value: unknown): Promise<string>;
  /** Resolves after all promise callbacks that are already due. */
  turn(): Promise<void>;
}

/** The state, with the name of the server that sealed it. */
interface SealedState extends RequestState {
  readonly audience: string;
}

const keyBytes = 32;
const method = { alg: 'dir', enc: 'A256GCM' } as const;

/**
 * Seals with the first key and opens with any: to rotate keys, put the new one in front and remove
 * the old one once its states have expired.
 *
 * @param audience the name of the server: other servers with the same keys cannot open its states
 * @param keys base64, base64url or hex of 32 bytes each; without any, a key that lives as long as
 *   the process
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
  /** @param node stands in it unencrypted, but no less authenticated: see {@link nodeOf} */
  seal(text: string, node?: string): Promise<string>;
  /** @returns undefined for anything that was not sealed with one of the keys */
  open(token: string): Promise<string | undefined>;
}

/** See {@link stateSealer}. */
export function textSealer(keys: readonly string[]): TextSealer {
  const given = keys.map((key, at) => readKey(key, at));
  // Random bytes load Node's crypto, so they are made only when needed.
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
          // Another key may open it. If no key does, it was not sealed here; the forger learns
          // nothing else.
        }
      }
      return undefined;
    },
  };
}

/**
 * The node that a sealed state names, for another one that only hands the request on. Reading it takes no key:
 * it is checked where the state is opened.
 *
 * @returns undefined if it names none, or is not a sealed state
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

/** Longer than any header that is sealed here, UTF-16 units. */
const maxHeaderLength = 256;

function readKey(key: string, at: number): Uint8Array {
  const bytes = /^[0-9a-f]{64}$/i.test(key) ? fromHex(key) : fromBase64(key);
  if (bytes?.length === keyBytes) return bytes;
  const got = bytes ? `these are ${bytes.length} bytes` : 'this is neither';
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

/** The error for every state that is not accepted: it tells a forger nothing. */
export function invalidStateError(): ProtocolError {
  return invalidParams(
    'this "requestState" is not accepted here, or not any more; send the request again without it',
  );
}

/**
 * A digest that does not depend on the order of keys: SHA-256 in base64url, of the JSON with its
 * members sorted.
 */
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
  // Defines own members, `__proto__` among them.
  return Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
