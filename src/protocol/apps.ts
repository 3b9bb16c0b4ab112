/**
 * MCP Apps on the wire: tools that hosts show with a page from the server.
 *
 * @see MCP Apps 2026-01-26
 */
import { isJsonObject } from './classify.ts';
import type { JsonObject } from './frames.ts';

/** The name of MCP Apps among the extensions, of clients and of servers. */
export const uiExtension = 'io.modelcontextprotocol/ui';

/** The type of a page that a host shows as an app. */
export const appMimeType = 'text/html;profile=mcp-app';

export const uiVisibilities = ['model', 'app'] as const;

/** Who may call a tool: the model, or the apps of its own server. */
export type UiVisibility = (typeof uiVisibilities)[number];

/**
 * The app of a tool: at least one of the two.
 *
 * @see MCP Apps 2026-01-26, "McpUiToolMeta"
 */
export interface ToolUi {
  /** The `ui://` resource that a host shows when the tool is called. */
  readonly resourceUri?: string;
  /** By default both. `['app']` is a tool that hosts with apps do not show to the model. */
  readonly visibility?: readonly UiVisibility[];
}

/** Whether a client with these capabilities shows apps. */
export function declaresApps({ extensions }: JsonObject): boolean {
  const ui = isJsonObject(extensions) ? extensions[uiExtension] : undefined;
  const types = isJsonObject(ui) ? ui['mimeTypes'] : undefined;
  return Array.isArray(types) && types.includes(appMimeType);
}

/** The `_meta` of a tool in a list, with its app. */
export function metaWithApp(meta: JsonObject | undefined, ui: ToolUi): JsonObject {
  const { resourceUri } = ui;
  // Hosts from before the extension was final look for the second name.
  return { ...meta, ui, ...(resourceUri === undefined ? {} : { 'ui/resourceUri': resourceUri }) };
}
