/**
 * Who sees which items of a server: what `visible` answers, and what a session has enabled or
 * disabled. A server without either never gets here.
 */
import type { Report } from '../../actors/facts.ts';
import type { CalledRequest } from '../../actors/request-context.ts';
import { sessionView } from '../context/session-view.ts';
import type { ForSome, ItemViewer, VisibleByTag } from '../define/visible.ts';
import { inspectValue } from '../../protocol/classify.ts';
import { textOfError } from '../../protocol/errors.ts';
import { sessionIn } from '../session/session-scope.ts';
import type { SessionScope } from '../session/session-scope.ts';

/** What has to be known of a request to say what its sender sees. */
export type ItemAsker = Pick<CalledRequest, 'peer' | 'origin' | 'session'> & {
  readonly params?: CalledRequest['params'];
};

/** The facts that the visibility of items reports. */
export type VisibilityFactName =
  /** A `visible` threw, or gave no boolean: the item is hidden. Told once until it answers again. */
  'visible.failed';

/** A list of which each may see a part. */
export interface VisibleList {
  /** What these eyes see of it, in a text: another text is another list. */
  answerTo(eyes: CallerView): string;
}

/** What the client of a session was told last. */
interface LastSeen {
  viewer: ItemViewer;
  readonly answers: Map<VisibleList, string>;
}

export class Visibility {
  /** See `ServerDefinition.visible`. */
  byTag: VisibleByTag;
  /** By the params of a request: each item is asked about once for it, however often it is looked up. */
  readonly #eyes = new WeakMap<object, CallerView>();
  readonly #sights = new WeakMap<SessionScope, LastSeen>();
  /** Whether a session of the server has ever enabled or disabled something. */
  isSwitched = false;
  /** Called if the caller of a session is another one than before, or may do something else. */
  callerChanged: (session: SessionScope) => void = () => {};
  readonly #failing = new WeakSet<ForSome>();

  constructor(byTag: VisibleByTag = {}) {
    this.byTag = byTag;
  }

  /** Whether an item may be hidden from somebody. */
  isForSome(item: ForSome): boolean {
    return item.visible !== undefined || this.#predicatesOf(item).length > 0;
  }

  /** The eyes of a request's sender. */
  eyesOf(asker: ItemAsker): CallerView {
    const key = asker.params ?? asker;
    let eyes = this.#eyes.get(key);
    if (eyes) return eyes;
    eyes = this.newEyes(asker);
    this.#eyes.set(key, eyes);
    const session = sessionIn({ scope: asker.session });
    const sight = this.#sights.get(session);
    if (sight && sight.viewer.principal !== eyes.viewer.principal) {
      sight.viewer = eyes.viewer;
      this.callerChanged(session);
    }
    return eyes;
  }

  /** Eyes that look anew. */
  newEyes({ peer, origin, session: scope }: ItemAsker): CallerView {
    const session = sessionIn({ scope });
    const viewer = {
      principal: origin?.principal,
      client: peer,
      session: sessionView(session, peer.dialect.version),
    };
    return new CallerView(viewer, session, this);
  }

  /** A client gets a list, or subscribes. Without a session, it is told of changes by `subscriptions/listen` alone. */
  shown(asker: ItemAsker, list?: VisibleList): void {
    const session = sessionIn({ scope: asker.session });
    if (!hasOwnSession(asker)) return;
    const eyes = this.eyesOf(asker);
    const sight = this.#sights.get(session) ?? { viewer: eyes.viewer, answers: new Map() };
    this.#sights.set(session, sight);
    if (list) sight.answers.set(list, list.answerTo(eyes));
  }

  /** Whether a session's client was shown anything. */
  hasShown(session: SessionScope): boolean {
    return this.#sights.has(session);
  }

  /** The eyes of a session's client now; undefined if it was shown nothing. */
  eyesIn(session: SessionScope): CallerView | undefined {
    const sight = this.#sights.get(session);
    return sight && new CallerView(sight.viewer, session, this);
  }

  /** Whether any of these lists is another one than a session's client has got. One that got none is told of all. */
  differ(session: SessionScope, lists: readonly VisibleList[]): boolean {
    const answers = this.#sights.get(session)?.answers;
    const eyes = this.eyesIn(session);
    const known = lists.filter((list) => answers?.has(list));
    if (!answers || !eyes || known.length === 0) return true;
    return renew(answers, known, eyes);
  }

  /** Whether an item is there for a viewer. Asks the author's code. */
  answer(item: ForSome, { viewer, session }: CallerView): boolean {
    const predicates = [...(item.visible ? [item.visible] : []), ...this.#predicatesOf(item)];
    return predicates.every((visible) => this.#ask(visible, item, viewer, session.report));
  }

  #ask(
    visible: (viewer: ItemViewer) => unknown,
    item: ForSome,
    viewer: ItemViewer,
    report: Report<VisibilityFactName>,
  ): boolean {
    try {
      const answer = visible(viewer);
      if (typeof answer !== 'boolean') {
        throw new TypeError(`it must give true or false at once, this is ${inspectValue(answer)}`);
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
      } = item as ForSome & {
        readonly [member: string]: unknown;
      };
      const message = `"visible" of ${inspectValue(uri)} failed, so it is hidden: ${textOfError(error)}`;
      report({ level: 'error', name: 'visible.failed', message, details: { error } });
      return false;
    }
  }

  #predicatesOf({ tags = [] }: ForSome) {
    return tags.flatMap((tag) => (Object.hasOwn(this.byTag, tag) ? [this.byTag[tag]!] : []));
  }
}

/** What one viewer sees. Each item is asked about once. */
export class CallerView {
  readonly viewer: ItemViewer;
  readonly session: SessionScope;
  readonly #visibility: Visibility;
  readonly #verdicts = new Map<ForSome, boolean>();

  constructor(viewer: ItemViewer, session: SessionScope, visibility: Visibility) {
    this.viewer = viewer;
    this.session = session;
    this.#visibility = visibility;
  }

  sees(item: ForSome, key: string): boolean {
    const switched = this.session.switches?.get(key);
    if (switched !== undefined) return switched;
    let verdict = this.#verdicts.get(item);
    if (verdict === undefined) {
      verdict = this.#visibility.answer(item, this);
      this.#verdicts.set(item, verdict);
    }
    return verdict;
  }
}

/** The answers that a subscription has told, or could have told, its client. */
export class LastAnswers {
  readonly #asker: ItemAsker;
  readonly #visibility: Visibility;
  readonly #answers = new Map<VisibleList, string>();

  constructor(asker: ItemAsker, lists: readonly VisibleList[], visibility: Visibility) {
    this.#asker = asker;
    this.#visibility = visibility;
    const eyes = visibility.newEyes(asker);
    for (const list of lists) this.#answers.set(list, list.answerTo(eyes));
  }

  /** Whether any of them is another one by now. */
  differ(lists: readonly VisibleList[]): boolean {
    const known = lists.filter((list) => this.#answers.has(list));
    return renew(this.#answers, known, this.#visibility.newEyes(this.#asker));
  }
}

/** Whether a client has a session to itself, in which it can be told something, and has something switched. */
function hasOwnSession({ peer, origin, session }: ItemAsker): boolean {
  return origin?.revision === undefined && peer.dialect.sessionOfRequest(session) !== undefined;
}

/** Looks anew. @returns whether any answer is another one */
function renew(
  answers: Map<VisibleList, string>,
  lists: readonly VisibleList[],
  eyes: CallerView,
): boolean {
  const changed = lists.filter((list) => {
    const before = answers.get(list);
    const now = list.answerTo(eyes);
    answers.set(list, now);
    return now !== before;
  });
  return changed.length > 0;
}
