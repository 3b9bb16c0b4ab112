/**
 * Subscriptions of clients, since 2026-07-28.
 *
 * @see MCP 2026-07-28, basic/patterns/subscriptions
 */
import { inspectValue, isJsonObject } from './classify.ts';
import { invalidParams } from './errors.ts';
import type { JsonObject } from './frames.ts';

/** The parsed filter of a subscription. */
export interface SubscriptionFilter {
  /** Methods of the list notifications. */
  readonly lists: readonly string[];
  /** URIs of resources, without duplicates. */
  readonly uris: readonly string[];
  /** Ids of tasks, without duplicates. */
  readonly taskIds: readonly string[];
}

/** The flags of a filter, and the notification that each one selects. */
export const listMethods: { readonly [member: string]: string } = {
  toolsListChanged: 'notifications/tools/list_changed',
  promptsListChanged: 'notifications/prompts/list_changed',
  resourcesListChanged: 'notifications/resources/list_changed',
};

/**
 * Parses the filter of `subscriptions/listen`.
 *
 * @param max maximum number of resources, and of tasks
 * @throws {ProtocolError} -32602 naming the member
 */
export function readSubscriptionFilter(
  params: JsonObject | undefined,
  max: number,
): SubscriptionFilter {
  const filter = params?.['notifications'];
  if (!isJsonObject(filter)) {
    throw invalidParams(`"notifications" must be an object, got ${inspectValue(filter)}`);
  }
  const wanted = Object.entries(listMethods).filter(([member]) => {
    const flag = filter[member];
    if (flag === undefined || typeof flag === 'boolean') return flag;
    throw invalidParams(`"notifications.${member}" must be a boolean, got ${inspectValue(flag)}`);
  });
  const uris = textsOf(filter, 'resourceSubscriptions', max, 'a URI', URL.canParse);
  const taskIds = textsOf(filter, 'taskIds', max, 'the id of a task', () => true);
  return { lists: wanted.map(([, method]) => method), uris, taskIds };
}

/** Reads a list of strings, without duplicates. */
function textsOf(
  filter: JsonObject,
  member: string,
  max: number,
  what: string,
  isOne: (text: string) => boolean,
): readonly string[] {
  const path = `notifications.${member}`;
  const given = filter[member] ?? [];
  if (!Array.isArray(given)) {
    throw invalidParams(`"${path}" must be an array, got ${inspectValue(given)}`);
  }
  const texts: readonly unknown[] = [...new Set<unknown>(given)];
  if (texts.length > max) {
    throw invalidParams(`"${path}" must have at most ${max} distinct items, got ${texts.length}`);
  }
  const wrong = texts.find((text) => typeof text !== 'string' || !isOne(text));
  if (wrong === undefined) return texts as readonly string[];
  const at = given.indexOf(wrong);
  throw invalidParams(`"${path}[${at}]" must be ${what}, got ${inspectValue(wrong)}`);
}

/**
 * The part of a filter that a server with these capabilities supports.
 *
 * @param hasTask true for a task of the client
 */
export function servedFilter(
  { lists: wanted, uris, taskIds }: SubscriptionFilter,
  capabilities: JsonObject,
  hasTask: (taskId: string) => boolean,
): SubscriptionFilter {
  const offers = (feature: string, member: string) => {
    const declared = capabilities[feature];
    return isJsonObject(declared) && declared[member] === true;
  };
  return {
    lists: wanted.filter((method) => offers(method.split('/')[1] as string, 'listChanged')),
    uris: offers('resources', 'subscribe') ? uris : [],
    taskIds: taskIds.filter(hasTask),
  };
}

/** Encodes a filter for the wire. */
export function filterParams({ lists: methods, uris, taskIds }: SubscriptionFilter): JsonObject {
  const flags = Object.entries(listMethods).filter(([, method]) => methods.includes(method));
  return {
    ...Object.fromEntries(flags.map(([member]) => [member, true])),
    ...(uris.length > 0 ? { resourceSubscriptions: uris } : {}),
    ...(taskIds.length > 0 ? { taskIds } : {}),
  };
}

/** Size of a subscription for limits: itself plus each resource and task. */
export function sizeOf({ uris, taskIds }: SubscriptionFilter): number {
  return 1 + uris.length + taskIds.length;
}

/** A change that subscriptions may select. */
export interface ChangeNotification {
  readonly method: string;
  /** URI of the resource or id of the task; undefined for a list. */
  readonly subject?: string;
  /** Computes the params of the notification when it is sent. */
  readonly params?: () => JsonObject;
}

/** Method of task status notifications. */
export const taskChanged = 'notifications/tasks';

/** True if the filter selects the change. */
export function matchesFilter(
  { lists: methods, uris, taskIds }: SubscriptionFilter,
  notice: ChangeNotification,
): boolean {
  const { method, subject } = notice;
  if (subject === undefined) return methods.includes(method);
  return (method === taskChanged ? taskIds : uris).includes(subject);
}
