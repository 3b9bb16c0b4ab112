/** Elements, made and found. Text is only ever text. */

type Child = Node | string;

/** An element with attributes; a boolean one is there or not. */
export function element<K extends keyof HTMLElementTagNameMap>(
  name: K,
  attributes: { readonly [name: string]: string | boolean | undefined } = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === 'string') made.setAttribute(key, value);
    else if (value) made.setAttribute(key, '');
  }
  made.append(...children);
  return made;
}

/** An element of the page's own document. */
export function byId(id: string): HTMLElement {
  const found = document.getElementById(id);
  if (!found) throw new Error(`The page has no element "${id}"`);
  return found;
}

/** Sets a text if it has changed: a screen reader does not repeat what stays. */
export function setText(target: Element, text: string): void {
  if (target.textContent !== text) target.textContent = text;
}

export function setAttribute(target: Element, name: string, value: string): void {
  if (target.getAttribute(name) !== value) target.setAttribute(name, value);
}

/** One entry of a list that is updated in place, so that focus and scrolling stay. */
interface Entry<T> {
  readonly element: HTMLElement;
  update(item: T): void;
}

/** Keeps an element's children in step with a list. */
export class KeyedList<T> {
  readonly #parent: HTMLElement;
  readonly #keyOf: (item: T) => string;
  readonly #make: (item: T) => Entry<T>;
  readonly #entries = new Map<string, Entry<T>>();

  constructor(parent: HTMLElement, keyOf: (item: T) => string, make: (item: T) => Entry<T>) {
    this.#parent = parent;
    this.#keyOf = keyOf;
    this.#make = make;
  }

  show(items: readonly T[]): void {
    const keys = new Set(items.map(this.#keyOf));
    for (const [key, { element: gone }] of this.#entries) {
      if (keys.has(key)) continue;
      gone.remove();
      this.#entries.delete(key);
    }
    let before = this.#parent.firstElementChild;
    for (const item of items) {
      const key = this.#keyOf(item);
      const entry = this.#entries.get(key) ?? this.#make(item);
      this.#entries.set(key, entry);
      entry.update(item);
      if (entry.element === before) before = before.nextElementSibling;
      else this.#parent.insertBefore(entry.element, before);
    }
  }
}

/** A request's id, shortened; the pointer shows all of it. */
export function shortId(id: string | number): HTMLElement {
  const text = String(id);
  const short = text.length > 12 ? `${text.slice(0, 8)}…` : text;
  return element('span', { class: 'id', title: text }, `#${short}`);
}
