/** Descriptions of tools, resources and prompts for display. */
import type { JsonObject } from './frames.ts';

/**
 * An image that a host may show.
 *
 * @see MCP 2025-11-25, basic, "Icons"
 */
export interface Icon {
  /** An `https:` or `data:` URI. */
  readonly src: string;
  /** Media type such as `image/png`, if `src` does not tell. */
  readonly mimeType?: string;
  /** For example `48x48`, or `any`. */
  readonly sizes?: readonly string[];
  /** The background it is designed for. Default: any. */
  readonly theme?: 'light' | 'dark';
}

/** Descriptive members of tools, resources, templates and prompts. */
export interface DisplayInfo {
  /** For people. */
  readonly title?: string;
  /** For a model. */
  readonly description?: string;
  /** Images. Omitted before 2025-11-25. */
  readonly icons?: readonly Icon[];
  /** Further data under prefixed keys, forwarded unchanged. */
  readonly _meta?: JsonObject;
}

/**
 * Hints about a tool. Hosts should trust them only from trusted servers.
 *
 * @see MCP 2025-11-25, schema, "ToolAnnotations"
 */
export interface ToolAnnotations {
  /** Name for people. The tool's own `title` takes precedence. */
  readonly title?: string;
  /** True if the tool does not modify its environment. Default: false. */
  readonly readOnlyHint?: boolean;
  /** True if changes may be destructive. Default: true. Irrelevant for read-only tools. */
  readonly destructiveHint?: boolean;
  /** True if repeating a call with the same arguments has no further effect. Default: false. */
  readonly idempotentHint?: boolean;
  /** True if the tool interacts with external entities such as the web. Default: true. */
  readonly openWorldHint?: boolean;
}

/**
 * Hints for a host: audience, importance and modification time of content.
 *
 * @see MCP 2025-11-25, schema, "Annotations"
 */
export interface Annotations {
  /** Default: both. */
  readonly audience?: readonly ('user' | 'assistant')[];
  /** From 0 (optional) to 1 (required). */
  readonly priority?: number;
  /** ISO 8601 timestamp. */
  readonly lastModified?: string;
}
