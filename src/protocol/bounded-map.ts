/** A map of bounded size: a new entry beyond the limit evicts the oldest. */
export class BoundedMap<K, V> extends Map<K, V> {
  readonly #maxSize: number;

  constructor(maxSize: number) {
    super();
    this.#maxSize = maxSize;
  }

  /** Sets an entry. Updating an entry does not change its age. */
  override set(key: K, value: V): this {
    super.set(key, value);
    if (this.size > this.#maxSize) {
      for (const oldest of this.keys()) {
        this.delete(oldest);
        break;
      }
    }
    return this;
  }
}
