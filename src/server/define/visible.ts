/** Items that only some callers see, as authors say it. */
import type { SessionView } from '../context/session-view.ts';
import { inspectValue, isJsonObject } from '../../protocol/classify.ts';
import type { PeerDescription } from '../../protocol/initialize.ts';
import type { Principal } from '../../protocol/request-origin.ts';

/** Who asks for a list, or for something in it. */
export interface ItemViewer {
  /** Who it is, as the access token says; undefined without authentication. */
  readonly principal?: Principal | undefined;
  /** How the client describes itself. Everybody may say anything here. */
  readonly client: PeerDescription;
  /** The session of the request. Clients of 2026-07-28 have none of their own. */
  readonly session: SessionView;
}

/**
 * Whether an item exists for a viewer. It answers at once, without side effects; if it throws, or
 * gives anything but true or false, the item is hidden and the log says why.
 */
export type Visible = (viewer: ItemViewer) => boolean;

/** What an item says of those who see it. */
export interface ForSome {
  /**
   * Says for whom the item exists; by default for all. For the others it is in no list, cannot be
   * called, read or completed, and is refused in the words for an unknown name. If the answer
   * changes, call the server's `visibilityChanged()`.
   */
  readonly visible?: Visible;
  /** The item exists for a viewer only if the server's `visible` agrees for each of these tags. */
  readonly tags?: readonly string[];
}

/** By tag: whether the items with this tag exist for a viewer. */
export type VisibleByTag = {
  /** Whether the items with this tag exist for a viewer. */
  readonly [tag: string]: Visible;
};

/** @throws {TypeError} a member is not what it must be */
export function checkForSome({ visible, tags }: ForSome, of: string): void {
  if (visible !== undefined && typeof visible !== 'function') {
    throw new TypeError(`"visible" of ${of} must be a function, this is ${inspectValue(visible)}`);
  }
  const given: unknown = tags;
  if (given === undefined) return;
  if (Array.isArray(given) && given.every((tag) => typeof tag === 'string')) return;
  throw new TypeError(`"tags" of ${of} must be a list of strings, this is ${inspectValue(given)}`);
}

/** @throws {TypeError} it is not an object of functions */
export function checkVisibleByTag(visible: unknown, of: string): void {
  if (visible === undefined) return;
  if (!isJsonObject(visible)) {
    const wanted = 'must be an object with a function for each tag';
    throw new TypeError(`"visible" of ${of} ${wanted}, this is ${inspectValue(visible)}`);
  }
  for (const [tag, answers] of Object.entries(visible)) {
    if (typeof answers === 'function') continue;
    throw new TypeError(
      `"visible.${tag}" of ${of} must be a function, this is ${inspectValue(answers)}`,
    );
  }
}
