/** What differs between the revisions of the protocol, for a server. One file per revision says its own values. */
export interface Revision {
  /** The date that names it on the wire. */
  readonly version: string;
  /** `handshake`: initialize, sessions, requests both ways. The stateless era of 2026-07-28 will be the other. */
  readonly era: 'handshake';
  /** JSON-RPC batches must be received. */
  readonly batches: boolean;
  /** `annotations` on tools. */
  readonly toolAnnotations: boolean;
  /** `title` on tools and resources, `outputSchema`, `structuredContent`, resource links. */
  readonly structuredOutput: boolean;
  /** `icons` on the server, tools, resources and prompts. */
  readonly icons: boolean;
  /** Arguments that fail a tool's schema are a result with `isError` (a model can recover), not `-32602`. */
  readonly invalidArgumentsAreResults: boolean;
}
