/** Per-caller visibility of tools, prompts, resources and skills. */
import type { SessionView } from '../context/session-view.ts';
import { inspectValue, isJsonObject } from '../../protocol/classify.ts';
import type { PeerDescription } from '../../protocol/initialize.ts';
import type { Principal } from '../../protocol/request-origin.ts';

/** The caller that lists or uses an item. */
export interface ItemViewer {
  /** Principal of the access token; undefined without authentication. */
  readonly principal?: Principal | undefined;
  /** Self-description of the client. Unauthenticated: do not base access control on it. */
  readonly client: PeerDescription;
  /** Session of the request. Clients of 2026-07-28 share one. */
  readonly session: SessionView;
}

/**
 * Predicate that decides whether a caller sees an item. Synchronous and free of side effects. If it
 * throws or returns a non-boolean, the item is hidden and `visible.failed` is logged.
 */
export type Visible = (viewer: ItemViewer) => boolean;

/** Visibility of an item. */
export interface VisibilityOptions {
  /**
   * Decides who sees the item. Default: everyone. A hidden item is absent from lists, cannot be
   * called, read or completed, and fails like an unknown name. Call the server's
   * `visibilityChanged()` when the result changes.
   */
  readonly visible?: Visible;
  /** Tags whose rules in the server's `visible` must all return true. */
  readonly tags?: readonly string[];
}

/** Visibility rules by tag. */
export type VisibleByTag = {
  /** Rule for the items with this tag. */
  readonly [tag: string]: Visible;
};

/** @throws {TypeError} naming the invalid member */
export function checkVisibilityOptions({ visible, tags }: VisibilityOptions, of: string): void {
  if (visible !== undefined && typeof visible !== 'function') {
    throw new TypeError(`"visible" of ${of} must be a function, got ${inspectValue(visible)}`);
  }
  const given: unknown = tags;
  if (given === undefined) return;
  if (Array.isArray(given) && given.every((tag) => typeof tag === 'string')) return;
  throw new TypeError(`"tags" of ${of} must be a list of strings, got ${inspectValue(given)}`);
}

/** @throws {TypeError} if `visible` is not an object of functions */
export function checkVisibleByTag(visible: unknown, of: string): void {
  if (visible === undefined) return;
  if (!isJsonObject(visible)) {
    const wanted = 'must be an object with a function for each tag';
    throw new TypeError(`"visible" of ${of} ${wanted}, got ${inspectValue(visible)}`);
  }
  for (const [tag, answers] of Object.entries(visible)) {
    if (typeof answers === 'function') continue;
    throw new TypeError(
      `"visible.${tag}" of ${of} must be a function, got ${inspectValue(answers)}`,
    );
  }
}
