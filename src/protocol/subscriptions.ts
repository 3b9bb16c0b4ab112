/**
 * What a client listens for, since 2026-07-28.
 *
 * @see MCP 2026-07-28, basic/patterns/subscriptions
 */
import { inspectValue, isJsonObject } from './classify.ts';
import { invalidParams } from './errors.ts';
import type { JsonObject } from './frames.ts';

/** What a subscription is told: its filter, read. */
export interface SubscriptionFilter {
  /** The methods of the notifications of lists. */
  readonly lists: readonly string[];
  /** The URIs of resources, each once. */
  readonly uris: readonly string[];
  /** The ids of tasks, each once. */
  readonly taskIds: readonly string[];
}

/** The members of a filter that are flags, with the notification that each asks for. */
export const listMethods: { readonly [member: string]: string } = {
  toolsListChanged: 'notifications/tools/list_changed',
  promptsListChanged: 'notifications/prompts/list_changed',
  resourcesListChanged: 'notifications/resources/list_changed',
};

/**
 * Reads the filter of a `subscriptions/listen`.
 *
 * @param max how many resources, and how many tasks, it may name: no more of them are looked at
 * @throws {ProtocolError} -32602 naming the member
 */
export function readSubscriptionFilter(
  params: JsonObject | undefined,
  max: number,
): SubscriptionFilter {
  const filter = params?.['notifications'];
  if (!isJsonObject(filter)) {
    throw invalidParams(`"notifications" must be an object, this is ${inspectValue(filter)}`);
  }
  const wanted = Object.entries(listMethods).filter(([member]) => {
    const flag = filter[member];
    if (flag === undefined || typeof flag === 'boolean') return flag;
    throw invalidParams(
      `"notifications.${member}" must be a boolean, this is ${inspectValue(flag)}`,
    );
  });
  const uris = textsOf(filter, 'resourceSubscriptions', max, 'a URI', URL.canParse);
  const taskIds = textsOf(filter, 'taskIds', max, 'the id of a task', () => true);
  return { lists: wanted.map(([, method]) => method), uris, taskIds };
}

/** A list of strings in a filter, each once. */
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
    throw invalidParams(`"${path}" must be an array, this is ${inspectValue(given)}`);
  }
  const texts: readonly unknown[] = [...new Set<unknown>(given)];
  if (texts.length > max) {
    throw invalidParams(`"${path}" names ${texts.length} different ones, and may name ${max}`);
  }
  const wrong = texts.find((text) => typeof text !== 'string' || !isOne(text));
  if (wrong === undefined) return texts as readonly string[];
  const at = given.indexOf(wrong);
  throw invalidParams(`"${path}[${at}]" must be ${what}, this is ${inspectValue(wrong)}`);
}

/**
 * The part of the interests that a server with these capabilities serves.
 *
 * @param hasTask true for a task that is kept for the client
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

/** The filter that says the same. */
export function filterParams({ lists: methods, uris, taskIds }: SubscriptionFilter): JsonObject {
  const flags = Object.entries(listMethods).filter(([, method]) => methods.includes(method));
  return {
    ...Object.fromEntries(flags.map(([member]) => [member, true])),
    ...(uris.length > 0 ? { resourceSubscriptions: uris } : {}),
    ...(taskIds.length > 0 ? { taskIds } : {}),
  };
}

/** How many things a subscription holds: itself, and each resource and task. */
export function sizeOf({ uris, taskIds }: SubscriptionFilter): number {
  return 1 + uris.length + taskIds.length;
}

/** Something that subscriptions are told of. */
export interface ChangeNotification {
  readonly method: string;
  /** The resource or the task that it is about; undefined if it is about a list. */
  readonly subject?: string;
  /** The params of the notification, as they are when it is sent. */
  readonly params?: () => JsonObject;
}

/** The notification of a task's new status. */
export const taskChanged = 'notifications/tasks';

/** True for a notice that these interests cover. */
export function matchesFilter(
  { lists: methods, uris, taskIds }: SubscriptionFilter,
  notice: ChangeNotification,
): boolean {
  const { method, subject } = notice;
  if (subject === undefined) return methods.includes(method);
  return (method === taskChanged ? taskIds : uris).includes(subject);
}
