/**
 * A server's results as typed for a host. Members in the specification are typed; all others are
 * kept as sent.
 */
import type { ContentBlock, ResourceContents } from '../../../../src/protocol/content.ts';
import type { JsonObject } from '../../../../src/protocol/frames.ts';

/** State of a server's list. */
export interface ListState {
  /**
   * `asking`: the first answer is pending. `known`: unchanged since the answer. `stale`: the list
   * changed or the connection was lost, and is fetched again. `failed`: the query failed, and is
   * repeated later. `unsupported`: the server has no such list.
   */
  readonly state: 'asking' | 'known' | 'stale' | 'failed' | 'unsupported';
  /** Reason for a missing or incomplete list. */
  readonly reason?: string;
}

/** Report about a server's list. */
export interface ListReport<T> extends ListState {
  /** All pages, in the server's order. Empty until the list is known. */
  readonly items: readonly T[];
}

/** Result of `tools/call`. A result with `isError` is also for the model to read. */
export interface CallToolResult extends JsonObject {
  /** Content for the model, in order. */
  readonly content: readonly ContentBlock[];
  /** Structured result, which conforms to the tool's `outputSchema`, if any. */
  readonly structuredContent?: JsonObject;
  /** True if the tool reports a failed call. Default: false. */
  readonly isError?: boolean;
}

/** Result of `resources/read`. */
export interface ReadResourceResult extends JsonObject {
  /** Contents of the resource, possibly several parts. */
  readonly contents: readonly ResourceContents[];
}

/** Result of `prompts/get`. */
export interface GetPromptResult extends JsonObject {
  /** Description for people. */
  readonly description?: string;
  /** Messages in order. */
  readonly messages: readonly { readonly role: string; readonly content: ContentBlock }[];
}

/** An argument of a prompt, or a variable of a resource template, to complete. */
export interface CompletionRequest {
  /** A prompt by name, or a template by URI. */
  readonly ref:
    | { readonly type: 'ref/prompt'; readonly name: string }
    | { readonly type: 'ref/resource'; readonly uri: string };
  /** Name of the argument, and the text typed so far. */
  readonly argument: { readonly name: string; readonly value: string };
  /** Arguments already filled in. */
  readonly context?: { readonly arguments?: { readonly [name: string]: string } };
}
