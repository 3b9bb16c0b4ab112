/**
 * What a server offers: tools, resources, resource templates and prompts. All sessions of a server
 * share them, and they may change while sessions are open.
 */
import type { ServerDefinition } from '../define/definition.ts';
import { checkDefined } from '../define/item-faults.ts';
import type { ItemRules } from '../define/item-faults.ts';
import { promptRules } from '../define/prompt.ts';
import type { Prompt } from '../define/prompt.ts';
import { resourceRules, templateRules } from '../define/resource.ts';
import type { Resource, ResourceTemplate } from '../define/resource.ts';
import { toolRules } from '../define/tool.ts';
import type { Tool } from '../define/tool.ts';
import { appMimeType } from '../protocol/apps.ts';
import { describe } from '../protocol/classify.ts';

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
      throw new TypeError(`The ${rules.kind}s of a server are a list; this is ${describe(items)}`);
    }
    for (const item of items as readonly T[]) this.add(item);
  }

  /** @throws {TypeError} it is not defined as it must be, or there is already an item with its key */
  add(item: T): void {
    checkDefined(item, this.#rules);
    const key = this.#keyOf(item);
    if (this.#entries.has(key)) {
      throw new TypeError(`There is a ${this.#rules.kind} "${key}" already`);
    }
    this.#check?.(item);
    this.#entries.set(key, { place: this.#nextPlace++, item, enabled: true });
    this.announce();
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
      given.every(({ item }, at) => this.#keyOf(item) === keys[at]);
    const places = [...this.#entries.values()].map(({ place }) => place);
    this.#entries.clear();
    for (const [at, { item }] of given.entries()) {
      const place = (isInPlace ? places[at] : undefined) ?? this.#nextPlace++;
      this.#entries.set(this.#keyOf(item), { place, item, enabled: true });
    }
  }

  /** Returns false if there was no item with this key. */
  remove(key: string): boolean {
    const removed = this.#entries.delete(key);
    if (removed) this.announce();
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
    return this.list().map(({ item }) => this.#keyOf(item));
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
    for (const listener of this.#listeners) listener();
  }

  /** Its name or its URI. */
  #keyOf(item: T): string {
    return (item as { readonly [member: string]: unknown })[this.#rules.key] as string;
  }

  #enable(key: string, enabled: boolean): void {
    const entry = this.#entries.get(key);
    if (!entry) throw new TypeError(`There is no ${this.#rules.kind} "${key}"`);
    if (entry.enabled === enabled) return;
    entry.enabled = enabled;
    this.announce();
  }
}

/** All that a server offers. A kind that the definition does not name is not offered. */
export interface OfferedFeatures {
  readonly tools: Registry<Tool>;
  readonly resources: Registry<Resource>;
  readonly resourceTemplates: Registry<ResourceTemplate>;
  readonly prompts: Registry<Prompt>;
}

/**
 * @throws {TypeError} an item is not defined as it must be, two have the same key, or a tool names
 *   an app that the server does not have
 */
export function catalogOf(definition: ServerDefinition): OfferedFeatures {
  const { tools, prompts } = definition;
  const resources = new Registry(resourceRules, definition.resources);
  const resourceTemplates = new Registry(templateRules, definition.resourceTemplates);
  const checkApp = ({ name, ui }: Tool) => {
    const uri = ui?.resourceUri;
    if (uri === undefined) return;
    const template = () => resourceTemplates.list().find(({ item }) => item.match(uri))?.item;
    const page = resources.get(uri) ?? template();
    const named = `The tool "${name}" names the app resource ${describe(uri)}`;
    if (!page) {
      throw new TypeError(
        `${named}, which the server does not have: define it with defineAppResource, and add it first`,
      );
    }
    if (page.mimeType === appMimeType) return;
    throw new TypeError(
      `${named}, whose mimeType must be "${appMimeType}", this is ${describe(page.mimeType)}`,
    );
  };
  return {
    tools: new Registry(toolRules, tools, checkApp),
    resources,
    resourceTemplates,
    prompts: new Registry(promptRules, prompts),
  };
}
