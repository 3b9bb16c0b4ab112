/** Who a client or a server is, and what a server says of itself. */
import type { JsonObject } from './frames.ts';

/** `clientInfo` and `serverInfo`. */
export interface Implementation {
  readonly name: string;
  readonly version: string;
  readonly title?: string;
  readonly icons?: readonly object[];
  readonly websiteUrl?: string;
}

/** What a server says of itself to its clients. */
export interface ServerDescription {
  readonly serverInfo: Implementation;
  readonly capabilities: JsonObject;
  readonly instructions?: string;
}
