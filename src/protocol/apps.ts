/**
 * MCP Apps on the wire: tools with a user interface served by the server.
 *
 * @see MCP Apps 2026-01-26
 */
import { isJsonObject } from './classify.ts';
import type { JsonObject } from './frames.ts';

/** Extension identifier, in the capabilities of clients and servers. */
export const uiExtension = 'io.modelcontextprotocol/ui';

/** Media type of an app's page. */
export const appMimeType = 'text/html;profile=mcp-app';

export const uiVisibilities = ['model', 'app'] as const;

/** Who may call a tool: the model, or apps of the same server. */
export type UiVisibility = (typeof uiVisibilities)[number];

/**
 * The app of a tool. At least one member is set.
 *
 * @see MCP Apps 2026-01-26, "McpUiToolMeta"
 */
export interface ToolUi {
  /** URI of the `ui://` resource that a host shows when the tool is called. */
  readonly resourceUri?: string;
  /** Default: both. `['app']` hides the tool from the model in hosts that support apps. */
  readonly visibility?: readonly UiVisibility[];
}

/** True if a client with these capabilities supports apps. */
export function declaresApps({ extensions }: JsonObject): boolean {
  const ui = isJsonObject(extensions) ? extensions[uiExtension] : undefined;
  const types = isJsonObject(ui) ? ui['mimeTypes'] : undefined;
  return Array.isArray(types) && types.includes(appMimeType);
}

/** Adds an app to the `_meta` of a listed tool. */
export function metaWithApp(meta: JsonObject | undefined, ui: ToolUi): JsonObject {
  const { resourceUri } = ui;
  // Hosts older than the final extension read this second member.
  return { ...meta, ui, ...(resourceUri === undefined ? {} : { 'ui/resourceUri': resourceUri }) };
}
