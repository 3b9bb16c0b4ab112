/**
 * Definition of MCP Apps: the HTML page that a host shows for a tool, and the tool's reference to it.
 *
 * @see MCP Apps 2026-01-26
 */
import { withAuthorStack } from '../../protocol/author-stack.ts';
import type { HandlerContext } from '../context/handler-context.ts';
import { appMimeType, uiVisibilities } from '../../protocol/apps.ts';
import type { ToolUi } from '../../protocol/apps.ts';
import { inspectValue, isJsonObject } from '../../protocol/classify.ts';
import type { JsonObject } from '../../protocol/frames.ts';
import type { Caching } from './caching.ts';
import { checkItem } from './item-rules.ts';
import type { ItemRules } from './item-rules.ts';
import { defineResource } from './resource.ts';
import type { Resource, ResourceDescription } from './resource.ts';

/**
 * Origins that a page may reach, such as `https://api.example.com` or `https://*.example.com`.
 * A directive that is absent allows none.
 *
 * @see MCP Apps 2026-01-26, "McpUiResourceCsp"
 */
export interface AppCsp {
  /** `connect-src`: fetch, XHR and WebSocket. */
  readonly connectDomains?: readonly string[];
  /** Origins of scripts, styles, images, fonts and media. */
  readonly resourceDomains?: readonly string[];
  /** `frame-src`: nested frames. */
  readonly frameDomains?: readonly string[];
  /** `base-uri`: the document base URL. */
  readonly baseUriDomains?: readonly string[];
}

/**
 * Browser permissions that a page requests from its host. A host may deny them, so the page must
 * detect each feature before using it.
 *
 * @see MCP Apps 2026-01-26, "McpUiResourcePermissions"
 */
export interface AppPermissions {
  /** Camera access. */
  readonly camera?: Readonly<Record<string, never>>;
  /** Microphone access. */
  readonly microphone?: Readonly<Record<string, never>>;
  /** Access to the location of the device. */
  readonly geolocation?: Readonly<Record<string, never>>;
  /** Write access to the clipboard. */
  readonly clipboardWrite?: Readonly<Record<string, never>>;
}

/**
 * Presentation of a page in its host.
 *
 * @see MCP Apps 2026-01-26, "McpUiResourceMeta"
 */
export interface AppOptions {
  /** Origins that the page may reach. Default: only its own. */
  readonly csp?: AppCsp;
  /** Requested permissions. Default: none. */
  readonly permissions?: AppPermissions;
  /** Dedicated origin for the page. The host documents the accepted values. */
  readonly domain?: string;
  /** True for a border and a background drawn by the host. The default depends on the host. */
  readonly prefersBorder?: boolean;
}

/** Input of {@link defineAppResource}. */
export interface AppResourceSpecification extends Omit<ResourceDescription, 'mimeType'> {
  /** Unique URI that starts with `ui://`. */
  readonly uri: string;
  /** Complete HTML document, or a function that returns one. Runs in the host's sandbox. */
  readonly html: string | ((context: HandlerContext) => string | Promise<string>);
  /** Presentation, origins and permissions of the page. */
  readonly ui?: AppOptions;
  /** Cache hints for the page. Default: those of the server. */
  readonly caching?: Caching;
}

const rules: ItemRules = {
  kind: 'app resource',
  key: 'uri',
  strings: ['name'],
  functions: [],
  members: {
    uri: true,
    name: true,
    title: true,
    description: true,
    icons: true,
    _meta: true,
    size: true,
    annotations: true,
    html: true,
    ui: true,
    caching: true,
  } satisfies Record<keyof AppResourceSpecification, true>,
  synonyms: { read: 'html', text: 'html', content: 'html' },
};

/** Validators of the members of {@link AppOptions}. */
const optionRules: { readonly [member: string]: (value: unknown) => string | undefined } = {
  csp: (csp) =>
    validateMembers(csp, {
      connectDomains: validateOrigins,
      resourceDomains: validateOrigins,
      frameDomains: validateOrigins,
      baseUriDomains: validateOrigins,
    }),
  permissions: (permissions) =>
    validateMembers(permissions, {
      camera: validatePermission,
      microphone: validatePermission,
      geolocation: validatePermission,
      clipboardWrite: validatePermission,
    }),
  domain: (domain) =>
    typeof domain === 'string' ? undefined : ` must be a string, got ${inspectValue(domain)}`,
  prefersBorder: (prefers) =>
    typeof prefers === 'boolean' ? undefined : ` must be a boolean, got ${inspectValue(prefers)}`,
};

/**
 * Defines the page that hosts show for a tool with `ui: { resourceUri }`. Add the returned resource
 * to the server's `resources`.
 *
 * @throws {TypeError} if a member is missing, unknown or invalid, or the URI does not start with
 *   `ui://`
 * @see MCP Apps 2026-01-26
 */
export function defineAppResource(app: AppResourceSpecification): Resource {
  return withAuthorStack(defineAppResource, () => {
    checkItem(app, rules);
    const { html, ui, ...described } = app;
    const { uri } = described;
    const named = `the app resource ${inspectValue(uri)}`;
    if (!uri.startsWith('ui://')) {
      throw new TypeError(
        `"uri" of an app resource must start with ui:// , got ${inspectValue(uri)}`,
      );
    }
    if (typeof html !== 'string' && typeof html !== 'function') {
      throw new TypeError(
        `"html" of ${named} must be a string or a function, got ${inspectValue(html)}`,
      );
    }
    const fault = ui === undefined ? undefined : validateMembers(ui, optionRules);
    if (fault !== undefined) {
      const [path = '', ...rest] = fault.split(' ');
      throw new TypeError(`"ui${path}" of ${named} ${rest.join(' ')}`);
    }
    const _meta = ui && { ...described._meta, ui };
    return defineResource({
      ...described,
      ...(_meta ? { _meta } : {}),
      mimeType: appMimeType,
      read: async (context) => {
        const text: unknown = typeof html === 'string' ? html : await html(context);
        if (typeof text !== 'string') {
          throw new TypeError(`"html" of ${named} must return a string, got ${inspectValue(text)}`);
        }
        return [{ uri, mimeType: appMimeType, text, ...(_meta ? { _meta } : {}) }];
      },
    });
  });
}

/** @throws {TypeError} naming the invalid member of the tool's `ui` */
export function checkToolUi(ui: unknown, tool: string, _meta: JsonObject | undefined): void {
  if (ui === undefined) return;
  const refuse = (member: string, problem: string): never => {
    throw new TypeError(`"${member}" of ${tool} ${problem}`);
  };
  if (!isJsonObject(ui)) return refuse('ui', `must be an object, got ${inspectValue(ui)}`);
  const { resourceUri, visibility } = ui;
  if (resourceUri === undefined && visibility === undefined) {
    refuse('ui', 'must have "resourceUri" or "visibility", got neither');
  }
  if (
    resourceUri !== undefined &&
    !(typeof resourceUri === 'string' && resourceUri.startsWith('ui://'))
  ) {
    refuse(
      'ui.resourceUri',
      `must be a URI that starts with ui:// , got ${inspectValue(resourceUri)}`,
    );
  }
  if (visibility !== undefined && !isVisibility(visibility)) {
    const known = uiVisibilities.map((name) => inspectValue(name)).join(' and ');
    refuse('ui.visibility', `must be a list of ${known}, got ${inspectValue(visibility)}`);
  }
  for (const member of Object.keys(ui)) {
    if (member === 'resourceUri' || member === 'visibility') continue;
    refuse(`ui.${member}`, 'is unknown: set the presentation of a page in defineAppResource');
  }
  if (_meta?.['ui'] !== undefined) refuse('ui', 'duplicates "_meta.ui": remove one of them');
}

function isVisibility(value: unknown): value is NonNullable<ToolUi['visibility']> {
  if (!Array.isArray(value) || value.length === 0) return false;
  return value.every((name) => uiVisibilities.some((known) => known === name));
}

/** Path and problem of the first invalid member; undefined if all are valid. */
function validateMembers(
  value: unknown,
  known: { readonly [member: string]: (value: unknown) => string | undefined },
): string | undefined {
  if (!isJsonObject(value)) return ` must be an object, got ${inspectValue(value)}`;
  for (const [member, given] of Object.entries(value)) {
    if (given === undefined) continue;
    const validate = Object.hasOwn(known, member) ? known[member] : undefined;
    if (!validate) return `.${member} is unknown, must be one of ${Object.keys(known).join(', ')}`;
    const fault = validate(given);
    if (fault !== undefined) return `.${member}${fault}`;
  }
  return undefined;
}

/** Rejects origins with spaces or semicolons, because a host copies them into its CSP header. */
function validateOrigins(origins: unknown): string | undefined {
  if (!Array.isArray(origins)) return ` must be a list of origins, got ${inspectValue(origins)}`;
  const wrong: unknown = origins.find(
    (origin) => typeof origin !== 'string' || !/^[a-z][a-z0-9+.-]*:\/\/[^\s;,'"]+$/i.test(origin),
  );
  if (wrong === undefined) return undefined;
  return ` must contain origins such as "https://api.example.com", got ${inspectValue(wrong)}`;
}

function validatePermission(permission: unknown): string | undefined {
  return isJsonObject(permission) ? undefined : ` must be {}, got ${inspectValue(permission)}`;
}
