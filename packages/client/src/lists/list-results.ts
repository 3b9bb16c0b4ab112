/**
 * A server's offers and results, as a host reads them. The members that the revisions name are
 * typed; all other members are kept as the server sent them.
 */
import type { ContentBlock, ResourceContents } from '../../../../src/protocol/content.ts';
import type { JsonObject } from '../../../../src/protocol/frames.ts';

/** The state of one of the server's lists. */
export interface ListState {
  /**
   * `asking`: the first answer is still to come. `known`: nothing has changed since the answer.
   * `stale`: the list has changed or the connection was lost; it is queried again. `failed`: the
   * query failed, and is repeated later. `unsupported`: the server has no such list.
   */
  readonly state: 'asking' | 'known' | 'stale' | 'failed' | 'unsupported';
  /** Why there is no list, or why it is incomplete. */
  readonly reason?: string;
}

/** What is known of one of the server's lists. */
export interface ListReport<T> extends ListState {
  /** All pages, in the server's order. Empty until the list is known. */
  readonly items: readonly T[];
}

/** The result of `tools/call`. One with `isError` is a result too, for the model to read. */
export interface CallToolResult extends JsonObject {
  /** What the model reads, in order. */
  readonly content: readonly ContentBlock[];
  /** The result as a value. If the tool has an `outputSchema`, it conforms. */
  readonly structuredContent?: JsonObject;
  /** Whether the tool says that the call failed; by default it did not. */
  readonly isError?: boolean;
}

/** The result of `resources/read`. */
export interface ReadResourceResult extends JsonObject {
  /** The contents; a resource may have several parts. */
  readonly contents: readonly ResourceContents[];
}

/** The result of `prompts/get`. */
export interface GetPromptResult extends JsonObject {
  /** For people: what the prompt is for. */
  readonly description?: string;
  /** The messages, in order. */
  readonly messages: readonly { readonly role: string; readonly content: ContentBlock }[];
}

/** What is completed: an argument of a prompt, or a variable of a resource template. */
export interface CompletionRequest {
  /** What has the argument: a prompt by its name, or a template by its URI. */
  readonly ref:
    | { readonly type: 'ref/prompt'; readonly name: string }
    | { readonly type: 'ref/resource'; readonly uri: string };
  /** The argument's name, and what has been typed so far. */
  readonly argument: { readonly name: string; readonly value: string };
  /** The arguments that are filled in already. */
  readonly context?: { readonly arguments?: { readonly [name: string]: string } };
}
