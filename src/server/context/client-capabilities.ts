/**
 * Whether the client may be asked: only for what it has declared, and what its revision knows.
 *
 * @see MCP 2025-11-25, basic/lifecycle, "Capability Negotiation"
 */
import { isJsonObject } from '../../protocol/classify.ts';
import { RuntimeError } from '../../protocol/errors.ts';
import type { JsonObject } from '../../protocol/frames.ts';
import type { ClientDescription } from '../../protocol/initialize.ts';

/** A kind of request to the client. */
interface Kind {
  /** Whether a person answers it, and so how long it may take. */
  readonly isHumanPaced: boolean;
  /** What the client lacks for it, as the end of a sentence; undefined where it lacks nothing. */
  lacking(client: ClientDescription, params: JsonObject | undefined): string | undefined;
}

const kinds: { readonly [method: string]: Kind } = {
  'roots/list': {
    isHumanPaced: false,
    lacking: ({ capabilities }) => undeclared(capabilities, 'roots'),
  },
  'sampling/createMessage': { isHumanPaced: true, lacking: lackingForSampling },
  'elicitation/create': { isHumanPaced: true, lacking: lackingForElicitation },
};

function kindOf(method: string): Kind | undefined {
  return Object.hasOwn(kinds, method) ? kinds[method] : undefined;
}

/** True for what a person answers: elicitation and sampling. */
export function isHumanPaced(method: string): boolean {
  return kindOf(method)?.isHumanPaced === true;
}

/**
 * CAPABILITY_MISSING, where the client must not be sent this request; undefined where it may.
 * A method that no revision knows is between the handler and its client.
 */
export function missingCapability(
  client: ClientDescription,
  method: string,
  params: JsonObject | undefined,
): RuntimeError | undefined {
  const lacking = kindOf(method)?.lacking(client, params);
  if (lacking === undefined) return undefined;
  const message = `The client ${client.info.name} ${lacking}, so it cannot be sent ${method}`;
  return new RuntimeError('CAPABILITY_MISSING', message);
}

function undeclared(capabilities: JsonObject, name: string): string | undefined {
  return isJsonObject(capabilities[name]) ? undefined : didNotDeclare(name);
}

function didNotDeclare(capability: string): string {
  return `did not declare the capability "${capability}"`;
}

function speaks({ revision }: ClientDescription, lacks: string): string {
  return `speaks revision ${revision.version}, which has no ${lacks}`;
}

/** @see MCP 2025-11-25, client/sampling, "Capabilities" */
function lackingForSampling(
  client: ClientDescription,
  params: JsonObject | undefined,
): string | undefined {
  const { sampling } = client.capabilities;
  if (!isJsonObject(sampling)) return didNotDeclare('sampling');
  const { samplingTools } = client.revision;
  if (usesTools(params)) {
    if (!samplingTools) return speaks(client, 'tools in sampling');
    if (!isJsonObject(sampling['tools'])) return didNotDeclare('sampling.tools');
  }
  const context = params?.['includeContext'] ?? 'none';
  // Older revisions have the parameter without a capability for it.
  if (context === 'none' || !samplingTools || isJsonObject(sampling['context'])) return undefined;
  return didNotDeclare('sampling.context');
}

/** A conversation in which a tool was used is one with tools too. */
function usesTools(params: JsonObject | undefined): boolean {
  const { tools, toolChoice, messages } = params ?? {};
  if (tools !== undefined || toolChoice !== undefined) return true;
  if (!Array.isArray(messages)) return false;
  return (messages as readonly unknown[]).some((message) => {
    const content: unknown = isJsonObject(message) ? message['content'] : undefined;
    return [content].flat().some((block) => {
      const type: unknown = isJsonObject(block) ? block['type'] : undefined;
      return type === 'tool_use' || type === 'tool_result';
    });
  });
}

/** @see MCP 2025-11-25, client/elicitation, "Capabilities" */
function lackingForElicitation(
  client: ClientDescription,
  params: JsonObject | undefined,
): string | undefined {
  if (params?.['mode'] === 'url') return lackingForUrl(client);
  if (!client.revision.elicitation) return speaks(client, 'elicitation');
  const { elicitation } = client.capabilities;
  if (!isJsonObject(elicitation)) return didNotDeclare('elicitation');
  // `elicitation: {}` means forms; `{ url: {} }` alone does not.
  const hasForms = isJsonObject(elicitation['form']) || elicitation['url'] === undefined;
  return hasForms ? undefined : didNotDeclare('elicitation.form');
}

function lackingForUrl(client: ClientDescription): string | undefined {
  if (!client.revision.urlElicitation) return speaks(client, 'URL elicitation');
  const { elicitation } = client.capabilities;
  const hasUrls = isJsonObject(elicitation) && isJsonObject(elicitation['url']);
  return hasUrls ? undefined : didNotDeclare('elicitation.url');
}
