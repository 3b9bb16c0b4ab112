/**
 * What a client listens for, since 2026-07-28.
 *
 * @see MCP 2026-07-28, basic/patterns/subscriptions
 */
import { describe, isJsonObject } from './classify.ts';
import { invalidParams } from './errors.ts';
import type { JsonObject } from './frames.ts';
import type { Method } from './methods.ts';

/** What a subscription is told: its filter, read. */
export interface Interests {
  /** The methods of the notifications of lists. */
  readonly lists: readonly string[];
  /** The URIs of resources, each once. */
  readonly uris: readonly string[];
}

/** The members of a filter that are flags, with the notification that each asks for. */
const lists: { readonly [member: string]: string } = {
  toolsListChanged: 'notifications/tools/list_changed',
  promptsListChanged: 'notifications/prompts/list_changed',
  resourcesListChanged: 'notifications/resources/list_changed',
};

/**
 * Reads the filter of a `subscriptions/listen`.
 *
 * @throws {ProtocolError} -32602 naming the member
 */
export function readInterests(params: JsonObject | undefined): Interests {
  const filter = params?.['notifications'];
  if (!isJsonObject(filter)) {
    throw invalidParams(`"notifications" must be an object, this is ${describe(filter)}`);
  }
  const wanted = Object.entries(lists).filter(([member]) => {
    const flag = filter[member];
    if (flag === undefined || typeof flag === 'boolean') return flag;
    throw invalidParams(`"notifications.${member}" must be a boolean, this is ${describe(flag)}`);
  });
  const { resourceSubscriptions: uris = [] } = filter;
  if (!Array.isArray(uris)) {
    const what = describe(uris);
    throw invalidParams(`"notifications.resourceSubscriptions" must be an array, this is ${what}`);
  }
  const wrong = uris.findIndex((uri) => typeof uri !== 'string' || !URL.canParse(uri));
  if (wrong >= 0) {
    throw invalidParams(
      `"notifications.resourceSubscriptions[${wrong}]" must be a URI, this is ${describe(uris[wrong])}`,
    );
  }
  return { lists: wanted.map(([, method]) => method), uris: [...new Set(uris as string[])] };
}

/** The part of the interests that a server with these capabilities serves. */
export function served({ lists: wanted, uris }: Interests, capabilities: JsonObject): Interests {
  const offers = (feature: string, member: string) => {
    const declared = capabilities[feature];
    return isJsonObject(declared) && declared[member] === true;
  };
  return {
    lists: wanted.filter((method) => offers(method.split('/')[1] as string, 'listChanged')),
    uris: offers('resources', 'subscribe') ? uris : [],
  };
}

/** The filter that says the same. */
export function filterOf({ lists: methods, uris }: Interests): JsonObject {
  const flags = Object.entries(lists).filter(([, method]) => methods.includes(method));
  return {
    ...Object.fromEntries(flags.map(([member]) => [member, true])),
    ...(uris.length > 0 ? { resourceSubscriptions: uris } : {}),
  };
}

/** Something that subscriptions are told of. */
export type Notice =
  | { readonly method: string; readonly uri?: undefined }
  | { readonly method: typeof Method.resourceUpdated; readonly uri: string };

/** True for a notice that these interests cover. */
export function covers({ lists: methods, uris }: Interests, { method, uri }: Notice): boolean {
  return uri === undefined ? methods.includes(method) : uris.includes(uri);
}
