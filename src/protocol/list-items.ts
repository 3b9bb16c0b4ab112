/**
 * What a server lists and completes, as its client reads it. The members that the revisions name are typed; everything else of an
 * item is there as the server sent it.
 */
import type { Annotations, DisplayInfo, ToolAnnotations } from './display-info.ts';
import type { JsonObject } from './frames.ts';

interface ListedItem extends DisplayInfo, JsonObject {
  /** What requests name it by. */
  readonly name: string;
}

/**
 * A tool in the answer to `tools/list`.
 *
 * @see MCP 2025-11-25, server/tools, "Tool"
 */
export interface ListedTool extends ListedItem {
  /** JSON Schema of the arguments: an object. */
  readonly inputSchema: JsonObject;
  /** JSON Schema of `structuredContent`. A tool without one promises nothing of it. */
  readonly outputSchema?: JsonObject;
  /** The server's own hints. A host that does not trust the server does not trust them. */
  readonly annotations?: ToolAnnotations & JsonObject;
}

/**
 * A resource in the answer to `resources/list`.
 *
 * @see MCP 2025-11-25, server/resources, "Resource"
 */
export interface ListedResource extends ListedItem {
  /** What it is read by. */
  readonly uri: string;
  /** The media type of its contents, if the server knows it. */
  readonly mimeType?: string;
  /** Of the contents before they are encoded, bytes. */
  readonly size?: number;
  /** For whom it is, and how important. */
  readonly annotations?: Annotations & JsonObject;
}

/**
 * A template in the answer to `resources/templates/list`.
 *
 * @see MCP 2025-11-25, server/resources, "Resource Templates"
 */
export interface ListedResourceTemplate extends ListedItem {
  /** A URI with variables, as RFC 6570 has it. */
  readonly uriTemplate: string;
  /** The media type, if all resources of the template have the same one. */
  readonly mimeType?: string;
  /** For whom its resources are, and how important. */
  readonly annotations?: Annotations & JsonObject;
}

/**
 * A prompt in the answer to `prompts/list`.
 *
 * @see MCP 2025-11-25, server/prompts, "Prompt"
 */
export interface ListedPrompt extends ListedItem {
  /** What `prompts/get` takes. A prompt without arguments may leave them out. */
  readonly arguments?: readonly (JsonObject & {
    readonly name: string;
    readonly title?: string;
    readonly description?: string;
    /** By default an argument may be left out. */
    readonly required?: boolean;
  })[];
}

/**
 * The values that a server suggests.
 *
 * @see MCP 2025-11-25, server/utilities/completion
 */
export interface Completion {
  /** At most 100, the best first. */
  readonly values: readonly string[];
  /** How many values there are in all, if the server says so. */
  readonly total?: number;
  /** Whether there are more than these. */
  readonly hasMore?: boolean;
}
