/**
 * MCP Apps, as authors write them: the page that a host shows, and the tools that name it.
 *
 * @see MCP Apps 2026-01-26
 */
import type { HandlerContext } from '../context/handler-context.ts';
import { appMimeType, uiVisibilities } from '../../protocol/apps.ts';
import type { ToolUi } from '../../protocol/apps.ts';
import { inspectValue, isJsonObject } from '../../protocol/classify.ts';
import type { JsonObject } from '../../protocol/frames.ts';
import type { Caching } from './caching.ts';
import { checkItem } from './item-faults.ts';
import type { ItemRules } from './item-faults.ts';
import { defineResource } from './resource.ts';
import type { Resource, ResourceDescription } from './resource.ts';

/**
 * The origins that a page may reach, such as `https://api.example.com` or `https://*.example.com`.
 * What is left out reaches none.
 *
 * @see MCP Apps 2026-01-26, "McpUiResourceCsp"
 */
export interface AppCsp {
  /** For requests and sockets: `connect-src`. */
  readonly connectDomains?: readonly string[];
  /** For scripts, styles, images, fonts and media. */
  readonly resourceDomains?: readonly string[];
  /** For frames inside the page: `frame-src`. */
  readonly frameDomains?: readonly string[];
  /** For the page's base: `base-uri`. */
  readonly baseUriDomains?: readonly string[];
}

/**
 * What a page asks its host for. A host may refuse it: the page has to look whether it is there.
 *
 * @see MCP Apps 2026-01-26, "McpUiResourcePermissions"
 */
export interface AppPermissions {
  /** The page wants to use a camera. */
  readonly camera?: Readonly<Record<string, never>>;
  /** The page wants to use a microphone. */
  readonly microphone?: Readonly<Record<string, never>>;
  /** The page wants to know where it is used. */
  readonly geolocation?: Readonly<Record<string, never>>;
  /** The page wants to write to the clipboard. */
  readonly clipboardWrite?: Readonly<Record<string, never>>;
}

/**
 * How a host shows a page.
 *
 * @see MCP Apps 2026-01-26, "McpUiResourceMeta"
 */
export interface AppOptions {
  /** The origins that the page may reach. By default none but its own. */
  readonly csp?: AppCsp;
  /** What the page asks its host for. By default nothing. */
  readonly permissions?: AppPermissions;
  /** An origin of the page's own. The host says which ones there can be. */
  readonly domain?: string;
  /** Whether the host draws a border and a background. Hosts differ if it is left out. */
  readonly prefersBorder?: boolean;
}

/** The page of an app; see {@link defineAppResource}. */
export interface AppResourceSpecification extends Omit<ResourceDescription, 'mimeType'> {
  /** Begins with `ui://`. */
  readonly uri: string;
  /** A whole HTML document, or what makes one. The host runs it in a sandbox. */
  readonly html: string | ((context: HandlerContext) => string | Promise<string>);
  /** How the host shows the page. */
  readonly ui?: AppOptions;
  /** How long clients may cache the page; what it leaves out, the server says. */
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

/** What the members of {@link AppOptions} must be. */
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
    typeof domain === 'string' ? undefined : ` must be a string, this is ${inspectValue(domain)}`,
  prefersBorder: (prefers) =>
    typeof prefers === 'boolean'
      ? undefined
      : ` must be a boolean, this is ${inspectValue(prefers)}`,
};

/**
 * Defines the page that hosts show for a tool with `ui: { resourceUri }`. It is a resource: put it
 * among the server's `resources`.
 *
 * @throws {TypeError} a member is missing or unknown, the URI does not begin with `ui://`, or
 *   an option is not as the extension says
 * @see MCP Apps 2026-01-26
 */
export function defineAppResource(app: AppResourceSpecification): Resource {
  checkItem(app, rules);
  const { html, ui, ...described } = app;
  const { uri } = described;
  const named = `the app resource ${inspectValue(uri)}`;
  if (!uri.startsWith('ui://')) {
    throw new TypeError(
      `The URI of an app resource begins with ui:// ; this is ${inspectValue(uri)}`,
    );
  }
  if (typeof html !== 'string' && typeof html !== 'function') {
    throw new TypeError(
      `"html" of ${named} must be a string or a function, this is ${inspectValue(html)}`,
    );
  }
  const fault = ui === undefined ? undefined : validateMembers(ui, optionRules);
  if (fault !== undefined) {
    const [path = '', ...rest] = fault.split(' ');
    throw new TypeError(`"ui${path}" ${rest.join(' ')}; it is of ${named}`);
  }
  const _meta = ui && { ...described._meta, ui };
  return defineResource({
    ...described,
    ...(_meta ? { _meta } : {}),
    mimeType: appMimeType,
    read: async (context) => {
      const text: unknown = typeof html === 'string' ? html : await html(context);
      if (typeof text !== 'string') {
        throw new TypeError(`"html" of ${named} must give a string, this is ${inspectValue(text)}`);
      }
      return [{ uri, mimeType: appMimeType, text, ...(_meta ? { _meta } : {}) }];
    },
  });
}

/** @throws {TypeError} naming the member of the tool's `ui` that is wrong */
export function checkToolUi(ui: unknown, tool: string, _meta: JsonObject | undefined): void {
  if (ui === undefined) return;
  const refuse = (why: string): never => {
    throw new TypeError(`${why}; it is of ${tool}`);
  };
  if (!isJsonObject(ui)) return refuse(`"ui" must be an object, this is ${inspectValue(ui)}`);
  const { resourceUri, visibility } = ui;
  if (resourceUri === undefined && visibility === undefined) {
    refuse('"ui" must have "resourceUri" or "visibility"');
  }
  if (
    resourceUri !== undefined &&
    !(typeof resourceUri === 'string' && resourceUri.startsWith('ui://'))
  ) {
    refuse(
      `"ui.resourceUri" must be a URI that begins with ui:// , this is ${inspectValue(resourceUri)}`,
    );
  }
  if (visibility !== undefined && !isVisibility(visibility)) {
    const known = uiVisibilities.map((name) => inspectValue(name)).join(' and ');
    refuse(`"ui.visibility" must be a list of ${known}, this is ${inspectValue(visibility)}`);
  }
  for (const member of Object.keys(ui)) {
    if (member === 'resourceUri' || member === 'visibility') continue;
    refuse(`"ui.${member}" is unknown: how a page is shown belongs to its resource`);
  }
  if (_meta?.['ui'] !== undefined) refuse('"ui" and "_meta.ui" say the same: give one of them');
}

function isVisibility(value: unknown): value is NonNullable<ToolUi['visibility']> {
  if (!Array.isArray(value) || value.length === 0) return false;
  return value.every((name) => uiVisibilities.some((known) => known === name));
}

/** The first member that is wrong: its path and what is wrong with it; undefined if none is. */
function validateMembers(
  value: unknown,
  known: { readonly [member: string]: (value: unknown) => string | undefined },
): string | undefined {
  if (!isJsonObject(value)) return ` must be an object, this is ${inspectValue(value)}`;
  for (const [member, given] of Object.entries(value)) {
    if (given === undefined) continue;
    const faultOf = Object.hasOwn(known, member) ? known[member] : undefined;
    if (!faultOf) return `.${member} is unknown, known are ${Object.keys(known).join(', ')}`;
    const fault = faultOf(given);
    if (fault !== undefined) return `.${member}${fault}`;
  }
  return undefined;
}

/** A host writes them into its policy: an origin with a space or a semicolon would change that. */
function validateOrigins(origins: unknown): string | undefined {
  if (!Array.isArray(origins))
    return ` must be a list of origins, this is ${inspectValue(origins)}`;
  const wrong: unknown = origins.find(
    (origin) => typeof origin !== 'string' || !/^[a-z][a-z0-9+.-]*:\/\/[^\s;,'"]+$/i.test(origin),
  );
  if (wrong === undefined) return undefined;
  return ` must hold origins such as "https://api.example.com", this is ${inspectValue(wrong)}`;
}

function validatePermission(permission: unknown): string | undefined {
  return isJsonObject(permission) ? undefined : ` must be {}, this is ${inspectValue(permission)}`;
}
