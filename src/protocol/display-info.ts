/** How tools, resources and prompts describe themselves. */
import type { JsonObject } from './frames.ts';

/**
 * A picture that a host may show.
 *
 * @see MCP 2025-11-25, basic, "Icons"
 */
export interface Icon {
  /** An `https:` or `data:` URI. */
  readonly src: string;
  /** The media type, such as `image/png`, if `src` does not say it. */
  readonly mimeType?: string;
  /** For example `48x48`, or `any`. */
  readonly sizes?: readonly string[];
  /** The background that it is drawn for; by default any. */
  readonly theme?: 'light' | 'dark';
}

/** What tools, resources, templates and prompts say of themselves. */
export interface DisplayInfo {
  /** For people. */
  readonly title?: string;
  /** For a model. */
  readonly description?: string;
  /** Pictures of it. Revisions before 2025-11-25 do not know them. */
  readonly icons?: readonly Icon[];
  /** Anything else, under prefixed keys, passed on as it is. */
  readonly _meta?: JsonObject;
}

/**
 * Hints about a tool. A host shows and may use them, and believes only servers that it trusts.
 *
 * @see MCP 2025-11-25, schema, "ToolAnnotations"
 */
export interface ToolAnnotations {
  /** For people; a `title` of the tool itself comes first. */
  readonly title?: string;
  /** The tool changes nothing around it. By default it may. */
  readonly readOnlyHint?: boolean;
  /** What it changes may be lost for good. By default it may be; says nothing of a read-only tool. */
  readonly destructiveHint?: boolean;
  /** A second call with the same arguments changes nothing more. By default it may. */
  readonly idempotentHint?: boolean;
  /** It reaches things that are not listed, such as the web. By default it does. */
  readonly openWorldHint?: boolean;
}

/**
 * Hints for a host: whom the content is for, how important it is, when it last changed.
 *
 * @see MCP 2025-11-25, schema, "Annotations"
 */
export interface Annotations {
  /** By default both. */
  readonly audience?: readonly ('user' | 'assistant')[];
  /** From 0, optional, to 1, required. */
  readonly priority?: number;
  /** ISO 8601. */
  readonly lastModified?: string;
}
