/**
 * What a server offers: tools, resources, resource templates and prompts. All sessions of a server
 * share them, and they may change while sessions are open.
 */
import type { RequestContext } from '../../actors/request-context.ts';
import type { ServerDefinition } from '../define/definition.ts';
import { checkDefined } from '../define/item-faults.ts';
import type { ItemRules } from '../define/item-faults.ts';
import { promptRules } from '../define/prompt.ts';
import type { Prompt } from '../define/prompt.ts';
import { resourceRules, templateRules } from '../define/resource.ts';
import type { Resource, ResourceTemplate } from '../define/resource.ts';
import { fileIn, skillRules } from '../define/skill.ts';
import type { FileOfSkill, Skill, SkillFinder } from '../define/skill.ts';
import { toolRules } from '../define/tool.ts';
import type { Tool } from '../define/tool.ts';
import { appMimeType } from '../../protocol/apps.ts';
import { inspectValue } from '../../protocol/classify.ts';
import type { CacheHints } from '../../protocol/dialects/dialect.ts';
import type { JsonObject } from '../../protocol/frames.ts';
import type { ForSome } from '../define/visible.ts';
import { skillScheme } from '../../protocol/skills.ts';
import { contextOf } from '../session/session-scope.ts';
import type { SessionScope } from '../session/session-scope.ts';
import { Visibility } from './visibility.ts';
import type { ItemAsker, CallerView, VisibleList } from './visibility.ts';

/**
 * An item of a list, with its place. Later items have higher places, and the place of a removed
 * item is never given again, so a cursor can name one.
 */
export interface RegistryEntry<T> {
  /** From 1, in the order in which items came. */
  readonly place: number;
  /** The item itself. */
  readonly item: T;
}

interface SwitchableEntry<T> extends RegistryEntry<T> {
  enabled: boolean;
}

/**
 * The items of one kind that a server offers. They may change while sessions are open, and
 * clients are told.
 */
export class Registry<T> {
  readonly #rules: ItemRules;
  readonly #check: ((item: T) => void) | undefined;
  readonly #entries = new Map<string, SwitchableEntry<T>>();
  readonly #listeners = new Set<() => void>();
  #nextPlace = 1;

  /**
   * @param rules what an item must have, and which member is its unique key
   * @param check throws a TypeError at an item that does not fit in with the server's others
   * @throws {TypeError} an item is not defined as it must be, or two have the same key
   */
  constructor(rules: ItemRules, items: readonly T[] = [], check?: (item: T) => void) {
    this.#rules = rules;
    this.#check = check;
    if (!Array.isArray(items)) {
      throw new TypeError(
        `The ${rules.kind}s of a server are a list; this is ${inspectValue(items)}`,
      );
    }
    for (const item of items as readonly T[]) this.add(item);
  }

  /** @throws {TypeError} it is not defined as it must be, or there is already an item with its key */
  add(item: T): void {
    checkDefined(item, this.#rules);
    const key = this.keyOf(item);
    if (this.#entries.has(key)) {
      throw new TypeError(`There is a ${this.#rules.kind} "${key}" already`);
    }
    this.#check?.(item);
    this.#entries.set(key, { place: this.#nextPlace++, item, enabled: true });
    this.changed();
  }

  /**
   * Takes the items of a list that was made alike in place of its own, and does not announce it. If
   * they have the same keys in the same order, they keep their places.
   */
  exchange(next: Registry<T>): void {
    const given = next.list();
    const keys = this.keys();
    const isInPlace =
      this.#entries.size === given.length &&
      given.every(({ item }, at) => this.keyOf(item) === keys[at]);
    const places = [...this.#entries.values()].map(({ place }) => place);
    this.#entries.clear();
    for (const [at, { item }] of given.entries()) {
      const place = (isInPlace ? places[at] : undefined) ?? this.#nextPlace++;
      this.#entries.set(this.keyOf(item), { place, item, enabled: true });
    }
  }

  /** Returns false if there was no item with this key. */
  remove(key: string): boolean {
    const removed = this.#entries.delete(key);
    if (removed) this.changed();
    return removed;
  }

  /** Shows an item again. @throws {TypeError} there is no item with this key */
  enable(key: string): void {
    this.#enable(key, true);
  }

  /**
   * Hides an item from lists and from use until {@link enable}.
   *
   * @throws {TypeError} there is no item with this key
   */
  disable(key: string): void {
    this.#enable(key, false);
  }

  /** The item with this key, if it is enabled. */
  get(key: string): T | undefined {
    const entry = this.#entries.get(key);
    return entry?.enabled ? entry.item : undefined;
  }

  /** The enabled items, the oldest first. */
  list(): RegistryEntry<T>[] {
    return [...this.#entries.values()].filter(({ enabled }) => enabled);
  }

  /** The keys of the enabled items, the oldest first. */
  keys(): string[] {
    return this.list().map(({ item }) => this.keyOf(item));
  }

  /** Calls back after each change. Returns what ends that. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * Announces that the list has changed although its items have not: if a resource template lists
   * other resources, for example.
   */
  announce(): void {
    this.changed();
  }

  protected changed(): void {
    for (const listener of this.#listeners) listener();
  }

  /** Its name or its URI. */
  keyOf(item: T): string {
    return (item as { readonly [member: string]: unknown })[this.#rules.key] as string;
  }

  #enable(key: string, enabled: boolean): void {
    const entry = this.#entries.get(key);
    if (!entry) throw new TypeError(`There is no ${this.#rules.kind} "${key}"`);
    if (entry.enabled === enabled) return;
    entry.enabled = enabled;
    this.changed();
  }
}

/** The items of one kind, as far as somebody sees them. */
export type SeenItems<T> = Pick<Registry<T>, 'get' | 'list' | 'keys'>;

/** The items of one kind as the features look at them: some may exist for some callers only. */
export class OfferedItems<T extends ForSome> extends Registry<T> implements VisibleList {
  readonly visibility: Visibility;
  readonly #forSession = new Set<(session: SessionScope) => void>();
  /** Whether there are such items; undefined if that has to be looked at again. */
  #isForSome: boolean | undefined = undefined;
  /** Counts what was announced: it changes the list for everybody. */
  #announced = 0;

  constructor(
    visibility: Visibility,
    rules: ItemRules,
    items: readonly T[] | undefined,
    check?: (item: T) => void,
  ) {
    super(rules, items, check);
    this.visibility = visibility;
    this.onChange(() => {
      this.#isForSome = undefined;
    });
  }

  get isForSome(): boolean {
    return (this.#isForSome ??= this.list().some(({ item }) => this.visibility.isForSome(item)));
  }

  /** Whether somebody may see less than another. */
  get isPartial(): boolean {
    return this.isForSome || this.visibility.isSwitched;
  }

  override exchange(next: Registry<T>): void {
    super.exchange(next);
    this.#isForSome = undefined;
  }

  /** What the sender of a request sees: all of it, if there is nothing that only some see. */
  seenBy(asker: ItemAsker): SeenItems<T> {
    if (!this.isPartial) return this;
    return new ItemsInSight(this, this.visibility.eyesOf(asker));
  }

  /** The list that the sender of a request gets now. */
  listedTo(asker: ItemAsker): RegistryEntry<T>[] {
    const seen = this.seenBy(asker);
    if (seen !== this) this.visibility.shown(asker, this);
    return seen.list();
  }

  /** What is not the same for all is kept by nobody for others. */
  cachedAs(hints: CacheHints): CacheHints {
    return this.isForSome ? { ...hints, scope: 'private' } : hints;
  }

  answerTo(eyes: CallerView): string {
    const places = new ItemsInSight(this, eyes).list().map(({ place }) => place);
    return `${this.#announced}:${places.join()}`;
  }

  override announce(): void {
    this.#announced++;
    super.announce();
  }

  /** The list may be another one for one session. */
  changedFor(session: SessionScope): void {
    for (const listener of this.#forSession) listener(session);
  }

  onChangeFor(listener: (session: SessionScope) => void): void {
    this.#forSession.add(listener);
  }
}

/** The items of a kind before a request has reached its session, such as where its token is checked. */
export interface ItemsAtDoor<T> {
  /** @param params of the request */
  get(key: string, params?: JsonObject): T | undefined;
}

/**
 * The items that the sender of a request sees, which no session has yet.
 *
 * @param asker asked only if some items are not for all; undefined if it may ask for nothing yet
 */
export function itemsAtDoor<T extends ForSome>(
  items: Registry<T>,
  asker: () => ItemAsker | undefined,
): ItemsAtDoor<T> {
  if (!(items instanceof OfferedItems) || !items.isPartial) return items;
  const offered = items as OfferedItems<T>;
  return {
    get: (key, params) => {
      const who = asker();
      return who && offered.seenBy({ ...who, params }).get(key);
    },
  };
}

class ItemsInSight<T extends ForSome> implements SeenItems<T> {
  readonly #items: OfferedItems<T>;
  readonly #eyes: CallerView;

  constructor(items: OfferedItems<T>, eyes: CallerView) {
    this.#items = items;
    this.#eyes = eyes;
  }

  get(key: string): T | undefined {
    const item = this.#items.get(key);
    return item && this.#eyes.sees(item, key) ? item : undefined;
  }

  list(): RegistryEntry<T>[] {
    return this.#items.list().filter(({ item }) => this.#eyes.sees(item, this.#items.keyOf(item)));
  }

  keys(): string[] {
    return this.list().map(({ item }) => this.#items.keyOf(item));
  }
}

/** The skills of a server: those of its registry, or what its finder finds for a caller. */
export class OfferedSkills extends OfferedItems<Skill> {
  find: SkillFinder | undefined;

  constructor(visibility: Visibility, skills: ServerDefinition['skills']) {
    super(visibility, skillRules, typeof skills === 'function' ? [] : skills);
    this.find = typeof skills === 'function' ? skills : undefined;
  }

  /** Whether there may be any. */
  get has(): boolean {
    return this.find !== undefined || this.list().length > 0;
  }

  /** Whether a URI may be that of a skill's file. */
  mayHave(uri: string): boolean {
    return uri.startsWith(skillScheme) && this.has;
  }

  override exchange(next: OfferedSkills): void {
    super.exchange(next);
    this.find = next.find;
  }

  /** What a caller sees, by URI. */
  async seenIn(call: RequestContext): Promise<readonly Skill[]> {
    const seen = new Map(
      this.seenBy(call.request)
        .list()
        .map(({ item }) => [item.uri, item]),
    );
    const found: unknown = (await this.find?.(contextOf(call))) ?? [];
    if (!Array.isArray(found)) {
      throw new TypeError(`"skills" must give a list of skills, this is ${inspectValue(found)}`);
    }
    const eyes = this.visibility.eyesOf(call.request);
    for (const skill of found as readonly Skill[]) {
      if (!seen.has(skill.uri) && eyes.sees(skill, skill.uri)) seen.set(skill.uri, skill);
    }
    return [...seen.values()].sort((one, other) => (one.uri < other.uri ? -1 : 1));
  }

  /** The file with this URI, if a caller sees it. */
  async fileFor(uri: string, call: RequestContext): Promise<FileOfSkill | undefined> {
    return fileIn(await this.seenIn(call), uri);
  }
}

/** All that a server offers. A kind that the definition does not name is not offered. */
export interface OfferedFeatures {
  readonly tools: Registry<Tool>;
  readonly resources: Registry<Resource>;
  readonly resourceTemplates: Registry<ResourceTemplate>;
  readonly prompts: Registry<Prompt>;
  readonly skills: Registry<Skill>;
}

/** The same as its features look at it. */
export interface ServerCatalog extends OfferedFeatures {
  readonly tools: OfferedItems<Tool>;
  readonly resources: OfferedItems<Resource>;
  readonly resourceTemplates: OfferedItems<ResourceTemplate>;
  readonly prompts: OfferedItems<Prompt>;
  readonly skills: OfferedSkills;
}

/**
 * @throws {TypeError} an item is not defined as it must be, two have the same key, or a tool names
 *   an app that the server does not have
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
    const named = `The tool "${name}" names the app resource ${inspectValue(uri)}`;
    if (!page) {
      throw new TypeError(
        `${named}, which the server does not have: define it with defineAppResource, and add it first`,
      );
    }
    if (page.mimeType === appMimeType) return;
    throw new TypeError(
      `${named}, whose mimeType must be "${appMimeType}", this is ${inspectValue(page.mimeType)}`,
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
