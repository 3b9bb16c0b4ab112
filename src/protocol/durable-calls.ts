/**
 * Keys in `_meta` that durable calls use. Those between a server process and the supervisor that holds its host's pipe
 * are private: a host sees none of them.
 */
import { isJsonObject } from './classify.ts';
import type { JsonObject } from './frames.ts';

/** The unguessable id of a `tools/call`, the same each time that the supervisor sends the call. */
export const callKey = 'mcp-actors/call';

/** Set once an earlier process was sent the call and has not answered. */
export const resentKey = 'mcp-actors/resent';

/** Identifies a question of a durable call: the same text whichever process asks. */
export const questionKey = 'mcp-actors/question';

/** Set in a result that is not the last: the server takes the next request of the call once, however often it comes. */
export const resendableKey = 'mcp-actors/resendable';

/** A call as the supervisor has marked it. */
export interface SupervisedCall {
  readonly id: string;
  /** True if an earlier process may have recorded it. */
  readonly isResent: boolean;
}

/** Undefined if the params carry no valid id. */
export function readSupervisedCall(params: JsonObject | undefined): SupervisedCall | undefined {
  const meta = params?.['_meta'];
  const id = isJsonObject(meta) ? meta[callKey] : undefined;
  if (typeof id !== 'string' || !/^[\w-]{16,64}$/.test(id)) return undefined;
  return { id, isResent: (meta as JsonObject)[resentKey] === true };
}

/** The `_meta` of a question of a call. */
export function questionMeta(callId: string, key: string): JsonObject {
  return { [questionKey]: `${callId}/${key}` };
}
