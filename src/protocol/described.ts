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
  readonly mimeType?: string;
  /** For example `48x48`, or `any`. */
  readonly sizes?: readonly string[];
  readonly theme?: 'light' | 'dark';
}

export interface Described {
  /** For people. */
  readonly title?: string;
  /** For a model. */
  readonly description?: string;
  readonly icons?: readonly Icon[];
  readonly _meta?: JsonObject;
}
