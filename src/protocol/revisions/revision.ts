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
  /** Audio content. */
  readonly audio: boolean;
  /** `completions` is a capability; completion itself is older. */
  readonly completions: boolean;
  /** What has been filled in already comes with a request for completion. */
  readonly completionContext: boolean;
  /** `title` and `_meta` on what is listed and on contents, `lastModified`, `outputSchema`, `structuredContent`, resource links. */
  readonly structuredOutput: boolean;
  /** `icons` on the server, tools, resources and prompts. */
  readonly icons: boolean;
  /** Arguments that fail a tool's schema are a result with `isError` (a model can recover), not `-32602`. */
  readonly invalidArgumentsAreResults: boolean;
  /** Task-augmented tool calls, `execution.taskSupport` on tools, the `tasks` capability and its methods. */
  readonly tasks: boolean;
  /** `message` in progress notifications. */
  readonly progressMessages: boolean;
  /** `elicitation/create`, with forms. */
  readonly elicitation: boolean;
  /** `elicitation/create` with URLs, a `mode` that says which, and `-32042`. */
  readonly urlElicitation: boolean;
  /** Forms with several choices at once, titles as `oneOf`, a default for every type. */
  readonly richForms: boolean;
  /** Sampling with `tools` and `toolChoice`, and several content blocks in one message. */
  readonly samplingTools: boolean;
}
