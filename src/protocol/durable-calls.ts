/**
 * `_meta` keys of durable calls. Those between a server process and its supervisor are private: the
 * host sees none of them.
 */
import { isJsonObject } from './classify.ts';
import type { JsonObject } from './frames.ts';
import type { NamedCall } from './request-origin.ts';

/** Unguessable id of a `tools/call`, the same whenever the supervisor resends the call. */
export const callKey = 'mcp-actors/call';

/** Set if an earlier process received the call and has not answered it. */
export const resentKey = 'mcp-actors/resent';

/** Identifies a request of a durable call, whichever process sends it. */
export const questionKey = 'mcp-actors/question';

/** Set in an intermediate result: the next request may be resent, and is processed once. */
export const resendableKey = 'mcp-actors/resendable';

/** Reads the supervisor's mark; undefined without a valid id. */
export function readSupervisedCall(params: JsonObject | undefined): NamedCall | undefined {
  const meta = params?.['_meta'];
  const id = isJsonObject(meta) ? meta[callKey] : undefined;
  if (typeof id !== 'string' || !/^[\w-]{16,64}$/.test(id)) return undefined;
  return { id, isResent: (meta as JsonObject)[resentKey] === true };
}

/** The `_meta` of a durable call's request to the client. */
export function questionMeta(callId: string, key: string): JsonObject {
  return { [questionKey]: `${callId}/${key}` };
}
