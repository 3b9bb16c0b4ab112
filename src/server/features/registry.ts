/**
 * Registries of a server's tools, resources, resource templates, prompts and skills, shared by all
 * sessions and mutable while sessions are open.
 */
import type { RequestContext } from '../../actors/request-context.ts';
import type { ServerDefinition } from '../define/definition.ts';
import { checkDefined } from '../define/item-rules.ts';
import type { ItemRules } from '../define/item-rules.ts';
import { promptRules } from '../define/prompt.ts';
import type { Prompt } from '../define/prompt.ts';
import { resourceRules, templateRules } from '../define/resource.ts';
import type { Resource, ResourceTemplate } from '../define/resource.ts';
import { findSkillFile, skillRules } from '../define/skill.ts';
import type { LocatedSkillFile, Skill, SkillFinder } from '../define/skill.ts';
import { toolRules } from '../define/tool.ts';
import type { Tool } from '../define/tool.ts';
import { appMimeType } from '../../protocol/apps.ts';
import { inspectValue } from '../../protocol/classify.ts';
import type { CacheHints } from '../../protocol/dialects/dialect.ts';
import type { JsonObject } from '../../protocol/frames.ts';
import type { VisibilityOptions } from '../define/visible.ts';
import { skillScheme } from '../../protocol/skills.ts';
import { contextOf } from '../session/session-scope.ts';
import type { SessionScope } from '../session/session-scope.ts';
import { Visibility } from './visibility.ts';
import type { ItemCaller, CallerView, VisibleList } from './visibility.ts';

/** A list item with its position. Positions increase and are never reused, so that cursors can refer to them. */
export interface RegistryEntry<T> {
  /** Insertion order, starting at 1. */
  readonly position: number;
  /** The defined item. */
  readonly item: T;
}

interface SwitchableEntry<T> extends RegistryEntry<T> {
  enabled: boolean;
}

/** Items of one kind, such as `server.tools`. Clients are notified of changes. */
export class Registry<T> {
  readonly #rules: ItemRules;
  readonly #check: ((item: T) => void) | undefined;
  readonly #entries = new Map<string, SwitchableEntry<T>>();
  readonly #listeners = new Set<() => void>();
  #nextPosition = 1;

  /**
   * @param rules validation rules of the items and the name of their key
   * @param check throws a TypeError if an item is inconsistent with other items of the server
   * @throws {TypeError} if an item is invalid or two items have the same key
   */
  constructor(rules: ItemRules, items: readonly T[] = [], check?: (item: T) => void) {
    this.#rules = rules;
    this.#check = check;
    if (!Array.isArray(items)) {
      throw new TypeError(
        `The ${rules.kind}s of a server must be a list, got ${inspectValue(items)}`,
      );
    }
    for (const item of items as readonly T[]) this.add(item);
  }

  /** Adds an item. @throws {TypeError} if the item is invalid or its key already exists */
  add(item: T): void {
    checkDefined(item, this.#rules);
    const key = this.keyOf(item);
    if (this.#entries.has(key)) {
      throw new TypeError(`The ${this.#rules.kind} "${key}" already exists: remove it first`);
    }
    this.#check?.(item);
    this.#entries.set(key, { position: this.#nextPosition++, item, enabled: true });
    this.changed();
  }

  /**
   * Replaces all items with those of another registry, without an announcement. Positions are kept if
   * the keys and their order are the same.
   */
  replaceWith(next: Registry<T>): void {
    const given = next.list();
    const keys = this.keys();
    const isSameOrder =
      this.#entries.size === given.length &&
      given.every(({ item }, at) => this.keyOf(item) === keys[at]);
    const positions = [...this.#entries.values()].map(({ position }) => position);
    this.#entries.clear();
    for (const [at, { item }] of given.entries()) {
      const position = (isSameOrder ? positions[at] : undefined) ?? this.#nextPosition++;
      this.#entries.set(this.keyOf(item), { position, item, enabled: true });
    }
  }

  /** Removes an item. @returns false if there was none with this key */
  remove(key: string): boolean {
    const removed = this.#entries.delete(key);
    if (removed) this.changed();
    return removed;
  }

  /** Shows a disabled item again. @throws {TypeError} if there is no item with this key */
  enable(key: string): void {
    this.#enable(key, true);
  }

  /**
   * Hides an item and rejects its use until {@link enable}.
   *
   * @throws {TypeError} if there is no item with this key
   */
  disable(key: string): void {
    this.#enable(key, false);
  }

  /** Enabled item with this key, if any. */
  get(key: string): T | undefined {
    const entry = this.#entries.get(key);
    return entry?.enabled ? entry.item : undefined;
  }

  /** Enabled items, oldest first. */
  list(): RegistryEntry<T>[] {
    return [...this.#entries.values()].filter(({ enabled }) => enabled);
  }

  /** Keys of the enabled items, oldest first. */
  keys(): string[] {
    return this.list().map(({ item }) => this.keyOf(item));
  }

  /** Subscribes to changes. @returns a function that unsubscribes */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Announces a change that did not affect the items, such as other resources listed by a template. */
  announce(): void {
    this.changed();
  }

  protected changed(): void {
    for (const listener of this.#listeners) listener();
  }

  /** Key of an item: its name or URI. */
  keyOf(item: T): string {
    return (item as { readonly [member: string]: unknown })[this.#rules.key] as string;
  }

  #enable(key: string, enabled: boolean): void {
    const entry = this.#entries.get(key);
    if (!entry) throw new TypeError(`There is no ${this.#rules.kind} "${key}": add it first`);
    if (entry.enabled === enabled) return;
    entry.enabled = enabled;
    this.changed();
  }
}

/** Items of one kind that a caller can see. */
export type VisibleItems<T> = Pick<Registry<T>, 'get' | 'list' | 'keys'>;

/** Registry with per-caller visibility. */
export class OfferedItems<T extends VisibilityOptions> extends Registry<T> implements VisibleList {
  readonly visibility: Visibility;
  readonly #sessionListeners = new Set<(session: SessionScope) => void>();
  /** Cached {@link isRestricted}; undefined after a change. */
  #isRestricted: boolean | undefined = undefined;
  /** Number of announcements, which are part of the fingerprint. */
  #announcements = 0;

  constructor(
    visibility: Visibility,
    rules: ItemRules,
    items: readonly T[] | undefined,
    check?: (item: T) => void,
  ) {
    super(rules, items, check);
    this.visibility = visibility;
    this.onChange(() => {
      this.#isRestricted = undefined;
    });
  }

  /** True if some items are hidden from some callers. */
  get isRestricted(): boolean {
    return (this.#isRestricted ??= this.list().some(({ item }) =>
      this.visibility.isRestricted(item),
    ));
  }

  /** True if callers may see different items. */
  get isFiltered(): boolean {
    return this.isRestricted || this.visibility.isSwitched;
  }

  override replaceWith(next: Registry<T>): void {
    super.replaceWith(next);
    this.#isRestricted = undefined;
  }

  /** Items visible to the sender of a request. */
  visibleTo(caller: ItemCaller): VisibleItems<T> {
    if (!this.isFiltered) return this;
    return new FilteredItems(this, this.visibility.viewFor(caller));
  }

  /** Lists the items for the sender of a request, and remembers the list for change notifications. */
  listFor(caller: ItemCaller): RegistryEntry<T>[] {
    const seen = this.visibleTo(caller);
    if (seen !== this) this.visibility.recordShown(caller, this);
    return seen.list();
  }

  /** Cache hints, with the scope `private` if callers see different items. */
  cacheHintsFor(hints: CacheHints): CacheHints {
    return this.isRestricted ? { ...hints, scope: 'private' } : hints;
  }

  fingerprintFor(view: CallerView): string {
    const positions = new FilteredItems(this, view).list().map(({ position }) => position);
    return `${this.#announcements}:${positions.join()}`;
  }

  override announce(): void {
    this.#announcements++;
    super.announce();
  }

  /** Announces a possible change for one session. */
  sessionChanged(session: SessionScope): void {
    for (const listener of this.#sessionListeners) listener(session);
  }

  onSessionChange(listener: (session: SessionScope) => void): void {
    this.#sessionListeners.add(listener);
  }
}

/** Item lookup for a request that has not reached its session, such as during authorization. */
export interface ItemLookup<T> {
  /** Finds a visible item. @param params params of the request */
  get(key: string, params?: JsonObject): T | undefined;
}

/**
 * Items visible to the sender of a request that has not reached its session.
 *
 * @param asker returns the caller, called only if callers see different items; undefined if unknown
 */
export function itemsBeforeSession<T extends VisibilityOptions>(
  items: Registry<T>,
  caller: () => ItemCaller | undefined,
): ItemLookup<T> {
  if (!(items instanceof OfferedItems) || !items.isFiltered) return items;
  const offered = items as OfferedItems<T>;
  return {
    get: (key, params) => {
      const who = caller();
      return who && offered.visibleTo({ ...who, params }).get(key);
    },
  };
}

class FilteredItems<T extends VisibilityOptions> implements VisibleItems<T> {
  readonly #items: OfferedItems<T>;
  readonly #view: CallerView;

  constructor(items: OfferedItems<T>, view: CallerView) {
    this.#items = items;
    this.#view = view;
  }

  get(key: string): T | undefined {
    const item = this.#items.get(key);
    return item && this.#view.sees(item, key) ? item : undefined;
  }

  list(): RegistryEntry<T>[] {
    return this.#items.list().filter(({ item }) => this.#view.sees(item, this.#items.keyOf(item)));
  }

  keys(): string[] {
    return this.list().map(({ item }) => this.#items.keyOf(item));
  }
}

/** Skills of a server: from its registry, or from its finder for each caller. */
export class OfferedSkills extends OfferedItems<Skill> {
  find: SkillFinder | undefined;

  constructor(visibility: Visibility, skills: ServerDefinition['skills']) {
    super(visibility, skillRules, typeof skills === 'function' ? [] : skills);
    this.find = typeof skills === 'function' ? skills : undefined;
  }

  /** True if the server may have skills. */
  get hasAny(): boolean {
    return this.find !== undefined || this.list().length > 0;
  }

  /** True if a URI may refer to a skill file. */
  mayContain(uri: string): boolean {
    return uri.startsWith(skillScheme) && this.hasAny;
  }

  override replaceWith(next: OfferedSkills): void {
    super.replaceWith(next);
    this.find = next.find;
  }

  /** Skills visible to a caller, ordered by URI. */
  async visibleIn(call: RequestContext): Promise<readonly Skill[]> {
    const seen = new Map(
      this.visibleTo(call.request)
        .list()
        .map(({ item }) => [item.uri, item]),
    );
    const found: unknown = (await this.find?.(contextOf(call))) ?? [];
    if (!Array.isArray(found)) {
      throw new TypeError(`"skills" must return a list of skills, got ${inspectValue(found)}`);
    }
    const view = this.visibility.viewFor(call.request);
    for (const skill of found as readonly Skill[]) {
      if (!seen.has(skill.uri) && view.sees(skill, skill.uri)) seen.set(skill.uri, skill);
    }
    return [...seen.values()].sort((one, other) => (one.uri < other.uri ? -1 : 1));
  }

  /** Skill file with this URI, if visible to the caller. */
  async fileFor(uri: string, call: RequestContext): Promise<LocatedSkillFile | undefined> {
    return findSkillFile(await this.visibleIn(call), uri);
  }
}

/** Registries of a server. Kinds that the definition does not contain are not served. */
export interface OfferedFeatures {
  readonly tools: Registry<Tool>;
  readonly resources: Registry<Resource>;
  readonly resourceTemplates: Registry<ResourceTemplate>;
  readonly prompts: Registry<Prompt>;
  readonly skills: Registry<Skill>;
}

/** Registries with per-caller visibility. */
export interface ServerCatalog extends OfferedFeatures {
  readonly tools: OfferedItems<Tool>;
  readonly resources: OfferedItems<Resource>;
  readonly resourceTemplates: OfferedItems<ResourceTemplate>;
  readonly prompts: OfferedItems<Prompt>;
  readonly skills: OfferedSkills;
}

/**
 * Creates the registries of a definition.
 *
 * @throws {TypeError} if an item is invalid, two items have the same key, or a tool refers to an unknown app
 */
export function catalogOf(definition: ServerDefinition): ServerCatalog {
  const { tools, prompts, skills } = definition;
  const visibility = new Visibility(definition.visible);
  const resources = new OfferedItems(visibility, resourceRules, definition.resources);
  const templates = definition.resourceTemplates;
  const resourceTemplates = new OfferedItems(visibility, templateRules, templates);
  const checkApp = ({ name, ui }: Tool) => {
    const uri = ui?.resourceUri;
    if (uri === undefined) return;
    const template = () => resourceTemplates.list().find(({ item }) => item.match(uri))?.item;
    const page = resources.get(uri) ?? template();
    const named = `"ui.resourceUri" of the tool "${name}" must be the URI of an app resource, got ${inspectValue(uri)}`;
    if (!page) {
      throw new TypeError(`${named}: define it with defineAppResource and add it before the tool`);
    }
    if (page.mimeType === appMimeType) return;
    throw new TypeError(
      `${named}, whose mimeType is ${inspectValue(page.mimeType)} instead of "${appMimeType}"`,
    );
  };
  return {
    tools: new OfferedItems(visibility, toolRules, tools, checkApp),
    resources,
    resourceTemplates,
    prompts: new OfferedItems(visibility, promptRules, prompts),
    skills: new OfferedSkills(visibility, skills),
  };
}
