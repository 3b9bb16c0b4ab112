/**
 * The URL elicitations of one session that have not been completed: a completion is told only to the client that was asked.
 *
 * @see MCP 2025-11-25, client/elicitation, "Completion Notifications for URL Mode Elicitation"
 */

/** How many are remembered: people forget most of what they are asked to open. */
const remembered = 1024;

export class OpenElicitations {
  readonly #ids = new Set<string>();

  add(elicitationId: string): void {
    this.#ids.add(elicitationId);
    if (this.#ids.size <= remembered) return;
    for (const oldest of this.#ids) {
      this.#ids.delete(oldest);
      return;
    }
  }

  /** True where it was open. It is no longer. */
  close(elicitationId: string): boolean {
    return this.#ids.delete(elicitationId);
  }
}
