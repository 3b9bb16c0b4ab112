/**
 * List items and completions as clients read them. Members defined by the protocol are typed; all
 * others are kept as sent.
 */
import type { Annotations, DisplayInfo, ToolAnnotations } from './display-info.ts';
import type { JsonObject } from './frames.ts';

interface ListedItem extends DisplayInfo, JsonObject {
  /** Name in requests. */
  readonly name: string;
}

/**
 * A tool in the answer to `tools/list`.
 *
 * @see MCP 2025-11-25, server/tools, "Tool"
 */
export interface ListedTool extends ListedItem {
  /** JSON Schema of the arguments, which are an object. */
  readonly inputSchema: JsonObject;
  /** JSON Schema of `structuredContent`. Undefined: no guarantee about it. */
  readonly outputSchema?: JsonObject;
  /** The server's hints. Trust them only if you trust the server. */
  readonly annotations?: ToolAnnotations & JsonObject;
}

/**
 * A resource in the answer to `resources/list`.
 *
 * @see MCP 2025-11-25, server/resources, "Resource"
 */
export interface ListedResource extends ListedItem {
  /** URI to read the resource by. */
  readonly uri: string;
  /** Media type of the contents, if known. */
  readonly mimeType?: string;
  /** Size of the raw contents, bytes. */
  readonly size?: number;
  /** Audience and importance. */
  readonly annotations?: Annotations & JsonObject;
}

/**
 * A template in the answer to `resources/templates/list`.
 *
 * @see MCP 2025-11-25, server/resources, "Resource Templates"
 */
export interface ListedResourceTemplate extends ListedItem {
  /** URI template (RFC 6570). */
  readonly uriTemplate: string;
  /** Media type, if all resources of the template share it. */
  readonly mimeType?: string;
  /** Audience and importance of its resources. */
  readonly annotations?: Annotations & JsonObject;
}

/**
 * A prompt in the answer to `prompts/list`.
 *
 * @see MCP 2025-11-25, server/prompts, "Prompt"
 */
export interface ListedPrompt extends ListedItem {
  /** Arguments of `prompts/get`. May be absent if there are none. */
  readonly arguments?: readonly (JsonObject & {
    readonly name: string;
    readonly title?: string;
    readonly description?: string;
    /** Default: false. */
    readonly required?: boolean;
  })[];
}

/**
 * Suggested completions.
 *
 * @see MCP 2025-11-25, server/utilities/completion
 */
export interface Completion {
  /** At most 100 values, the best first. */
  readonly values: readonly string[];
  /** Total number of values, if known. */
  readonly total?: number;
  /** True if there are more values. */
  readonly hasMore?: boolean;
}
