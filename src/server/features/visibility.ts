/**
 * Per-caller visibility of items, from `visible` predicates and per-session overrides. Not used by servers
 * without either.
 */
import type { Report } from '../../actors/facts.ts';
import type { CalledRequest } from '../../actors/request-context.ts';
import { sessionView } from '../context/session-view.ts';
import type { VisibilityOptions, ItemViewer, VisibleByTag } from '../define/visible.ts';
import { inspectValue } from '../../protocol/classify.ts';
import { textOfError } from '../../protocol/errors.ts';
import { sessionIn } from '../session/session-scope.ts';
import type { SessionScope } from '../session/session-scope.ts';

/** Properties of a request that determine visibility. */
export type ItemCaller = Pick<CalledRequest, 'peer' | 'origin' | 'session'> & {
  readonly params?: CalledRequest['params'];
};

/** Names of the facts reported by visibility checks. */
export type VisibilityFactName =
  /** `visible` threw or returned a non-boolean, so the item is hidden. Reported once until it succeeds again. */
  'visible.failed';

/** List with per-caller visibility. */
export interface VisibleList {
  /** Fingerprint of the visible items. Different lists have different fingerprints. */
  fingerprintFor(view: CallerView): string;
}

/** Last viewer of a session and the fingerprints of the lists sent to it. */
interface LastSeen {
  viewer: ItemViewer;
  readonly answers: Map<VisibleList, string>;
}

export class Visibility {
  /** See `ServerDefinition.visible`. */
  byTag: VisibleByTag;
  /** Views by the params of the request, so that predicates run once per request. */
  readonly #views = new WeakMap<object, CallerView>();
  readonly #lastSeen = new WeakMap<SessionScope, LastSeen>();
  /** True if any session has ever enabled or disabled an item. */
  isSwitched = false;
  /** Called when the principal of a session changes. */
  callerChanged: (session: SessionScope) => void = () => {};
  readonly #failing = new WeakSet<VisibilityOptions>();

  constructor(byTag: VisibleByTag = {}) {
    this.byTag = byTag;
  }

  /** True if an item may be hidden from some callers. */
  isRestricted(item: VisibilityOptions): boolean {
    return item.visible !== undefined || this.#predicatesOf(item).length > 0;
  }

  /** View of a request's sender, cached per request. */
  viewFor(caller: ItemCaller): CallerView {
    const key = caller.params ?? caller;
    let view = this.#views.get(key);
    if (view) return view;
    view = this.freshViewFor(caller);
    this.#views.set(key, view);
    const session = sessionIn({ scope: caller.session });
    const seen = this.#lastSeen.get(session);
    if (seen && seen.viewer.principal !== view.viewer.principal) {
      seen.viewer = view.viewer;
      this.callerChanged(session);
    }
    return view;
  }

  /** Uncached view of a caller. */
  freshViewFor({ peer, origin, session: scope }: ItemCaller): CallerView {
    const session = sessionIn({ scope });
    const viewer = {
      principal: origin?.principal,
      client: peer,
      session: sessionView(session, peer.dialect.version),
    };
    return new CallerView(viewer, session, this);
  }

  /** Remembers a list sent to a client, for change notifications. No-op without a session: such clients use `subscriptions/listen`. */
  recordShown(caller: ItemCaller, list?: VisibleList): void {
    const session = sessionIn({ scope: caller.session });
    if (!hasOwnSession(caller)) return;
    const view = this.viewFor(caller);
    const seen = this.#lastSeen.get(session) ?? { viewer: view.viewer, answers: new Map() };
    this.#lastSeen.set(session, seen);
    if (list) seen.answers.set(list, list.fingerprintFor(view));
  }

  /** True if the client of a session has received a restricted list. */
  hasShown(session: SessionScope): boolean {
    return this.#lastSeen.has(session);
  }

  /** Current view of a session's client; undefined if it has received no restricted list. */
  viewIn(session: SessionScope): CallerView | undefined {
    const seen = this.#lastSeen.get(session);
    return seen && new CallerView(seen.viewer, session, this);
  }

  /** True if any list differs from the one last sent to the session's client, or none was sent. */
  haveChanged(session: SessionScope, lists: readonly VisibleList[]): boolean {
    const answers = this.#lastSeen.get(session)?.answers;
    const view = this.viewIn(session);
    const known = lists.filter((list) => answers?.has(list));
    if (!answers || !view || known.length === 0) return true;
    return refreshAnswers(answers, known, view);
  }

  /** Runs the visibility predicates of an item. */
  isVisible(item: VisibilityOptions, { viewer, session }: CallerView): boolean {
    const predicates = [...(item.visible ? [item.visible] : []), ...this.#predicatesOf(item)];
    return predicates.every((visible) => this.#ask(visible, item, viewer, session.report));
  }

  #ask(
    visible: (viewer: ItemViewer) => unknown,
    item: VisibilityOptions,
    viewer: ItemViewer,
    report: Report<VisibilityFactName>,
  ): boolean {
    try {
      const answer = visible(viewer);
      if (typeof answer !== 'boolean') {
        throw new TypeError(`it must return a boolean synchronously, got ${inspectValue(answer)}`);
      }
      this.#failing.delete(item);
      return answer;
    } catch (error) {
      if (this.#failing.has(item)) return false;
      this.#failing.add(item);
      const {
        name,
        uriTemplate,
        uri = uriTemplate ?? name,
      } = item as VisibilityOptions & {
        readonly [member: string]: unknown;
      };
      const message = `"visible" of ${inspectValue(uri)} failed, so it is hidden: ${textOfError(error)}`;
      report({ level: 'error', name: 'visible.failed', message, details: { error } });
      return false;
    }
  }

  #predicatesOf({ tags = [] }: VisibilityOptions) {
    return tags.flatMap((tag) => (Object.hasOwn(this.byTag, tag) ? [this.byTag[tag]!] : []));
  }
}

/** View of one caller. Runs the predicates of each item once. */
export class CallerView {
  readonly viewer: ItemViewer;
  readonly session: SessionScope;
  readonly #visibility: Visibility;
  readonly #verdicts = new Map<VisibilityOptions, boolean>();

  constructor(viewer: ItemViewer, session: SessionScope, visibility: Visibility) {
    this.viewer = viewer;
    this.session = session;
    this.#visibility = visibility;
  }

  sees(item: VisibilityOptions, key: string): boolean {
    const switched = this.session.switches?.get(key);
    if (switched !== undefined) return switched;
    let verdict = this.#verdicts.get(item);
    if (verdict === undefined) {
      verdict = this.#visibility.isVisible(item, this);
      this.#verdicts.set(item, verdict);
    }
    return verdict;
  }
}

/** Fingerprints of the lists last announced to a subscription. */
export class LastAnswers {
  readonly #caller: ItemCaller;
  readonly #visibility: Visibility;
  readonly #answers = new Map<VisibleList, string>();

  constructor(caller: ItemCaller, lists: readonly VisibleList[], visibility: Visibility) {
    this.#caller = caller;
    this.#visibility = visibility;
    const view = visibility.freshViewFor(caller);
    for (const list of lists) this.#answers.set(list, list.fingerprintFor(view));
  }

  /** True if any list has changed since the last check. */
  haveChanged(lists: readonly VisibleList[]): boolean {
    const known = lists.filter((list) => this.#answers.has(list));
    return refreshAnswers(this.#answers, known, this.#visibility.freshViewFor(this.#caller));
  }
}

/** True if the client has its own session, which can be notified and have overrides. */
function hasOwnSession({ peer, origin, session }: ItemCaller): boolean {
  return origin?.revision === undefined && peer.dialect.sessionOfRequest(session) !== undefined;
}

/** Updates the fingerprints. @returns true if any has changed */
function refreshAnswers(
  answers: Map<VisibleList, string>,
  lists: readonly VisibleList[],
  view: CallerView,
): boolean {
  const changed = lists.filter((list) => {
    const before = answers.get(list);
    const now = list.fingerprintFor(view);
    answers.set(list, now);
    return now !== before;
  });
  return changed.length > 0;
}
