/** The identity of a client or a server. */
import type { JsonObject } from './frames.ts';

/** `clientInfo` and `serverInfo`. */
export interface Implementation {
  readonly name: string;
  readonly version: string;
  readonly title?: string;
  readonly icons?: readonly object[];
  readonly websiteUrl?: string;
}

/** Everything that a server says about itself in the result of `initialize`. */
export interface ServerDescription {
  readonly serverInfo: Implementation;
  readonly capabilities: JsonObject;
  readonly instructions?: string;
}
