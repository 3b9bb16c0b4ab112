/**
 * What changes at the servers of this node, such as a resource or a list, is told to all other nodes: once, and in
 * order, also if the store is away meanwhile or loses what was on its way.
 */
import { onceAtTurnEnd } from '../../actors/clock.ts';
import type { Clock } from '../../actors/clock.ts';
import type { McpServer } from '../../server/create-server.ts';
import { reportInWords } from '../facts.ts';
import type { HttpReport } from '../facts.ts';
import { StoreUnavailable } from '../nodes/stores.ts';
import type { ChangedLetter } from './letters.ts';
import { reportUnavailable } from './unavailable.ts';

export interface ChangeLettersHome {
  readonly clock: Clock;
  readonly report: HttpReport;
  /** The other nodes, while this one has a lease. @throws {StoreUnavailable} */
  others(): Promise<readonly string[]>;
  /** Whether there may be more: the store has lost its data, and not all have come back yet. */
  mayLackOthers(): boolean;
  /** Tells the servers of this node. @param at the server that knows it already */
  tellHere(letter: ChangedLetter, at: McpServer): void;
  /** Puts a letter into what is sent to a node. */
  post(node: string, letter: ChangedLetter): void;
}

/** What has changed, without its number. */
type Change = Omit<ChangedLetter, 'kind' | 'serial'>;

interface Telling {
  readonly letter: ChangedLetter;
  /** The nodes that are to be told; undefined for all. */
  readonly to: readonly string[] | undefined;
}

/** How soon it is tried again, milliseconds. */
const againMs = 1000;

/** How many changes are kept until the others can be told, or have read them, and how long their URIs are, characters. */
const maxChanges = 1000;
const maxCharacters = 256 * 1024;

export class ChangeLetters {
  readonly #home: ChangeLettersHome;
  /** What has changed in this turn, and at which server. */
  readonly #changed = new Map<string, readonly [ChangedLetter, McpServer]>();
  /** What the others have not been told. While there is any, it is tried. */
  readonly #untold = new Map<string, Telling>();
  /** What they were told lately, and before that: they may not have read it. */
  #told: readonly Telling[] = [];
  #toldBefore: readonly Telling[] = [];
  #serial = 0;

  constructor(home: ChangeLettersHome) {
    this.#home = home;
  }

  add(change: Change, at: McpServer): void {
    const letter = { kind: 'changed', serial: ++this.#serial, ...change } as const;
    this.#changed.set(keyOf(letter), [letter, at]);
    onceAtTurnEnd(this.#tell);
  }

  /** What is on its way may be lost: it is sent again. Who has read it knows its number. */
  lost(): void {
    const sent = [...this.#toldBefore, ...this.#told];
    this.#forget();
    this.#send(sent.filter(({ letter }) => !this.#untold.has(keyOf(letter))));
  }

  /** The others will know this node by another name, and not by which numbers it has told what. */
  lapsed(): void {
    this.#forget();
    for (const [key, { to }] of this.#untold) if (to) this.#untold.delete(key);
  }

  /** The store is well: what was told before the last time has been read. */
  beat(): void {
    [this.#toldBefore, this.#told] = [this.#told, []];
  }

  readonly #tell = (): void => {
    const changed = [...this.#changed.values()];
    this.#changed.clear();
    for (const [letter, at] of changed) this.#home.tellHere(letter, at);
    this.#send(changed.map(([letter]) => ({ letter, to: undefined })));
  };

  #forget(): void {
    [this.#toldBefore, this.#told] = [[], []];
  }

  #send(tellings: readonly Telling[]): void {
    const isTried = this.#untold.size > 0;
    for (const telling of tellings) {
      const key = keyOf(telling.letter);
      this.#untold.delete(key);
      this.#untold.set(key, telling);
    }
    this.#dropUntold();
    if (!isTried) void this.#tellOthers();
  }

  /** Tells them as soon as it is known who they are, and tries until this node is closed. */
  async #tellOthers(): Promise<void> {
    const { clock, report } = this.#home;
    const failed = reportUnavailable(report, 'The other nodes do not know of a change yet');
    while (this.#untold.size > 0) {
      try {
        const others = await this.#home.others();
        const tellings = [...this.#untold.values()];
        this.#untold.clear();
        for (const node of others) {
          for (const { letter, to } of tellings) {
            if (to?.includes(node) ?? true) this.#home.post(node, letter);
          }
        }
        // Nodes that come later are not told again: their sessions may have heard of it where they were before.
        const known = this.#home.mayLackOthers() ? undefined : others;
        const told = tellings.map(({ letter, to = known }) => ({ letter, to }));
        this.#told = newest([...this.#told, ...told]);
      } catch (error) {
        failed(error);
        if (error instanceof StoreUnavailable && error.fault === 'closed') return;
        await new Promise<void>((resolve) => {
          clock.setTimeout(resolve, againMs);
        });
      }
    }
  }

  /** The oldest go, if it is too much. */
  #dropUntold(): void {
    const dropped = this.#untold.size - newest([...this.#untold.values()]).length;
    if (dropped === 0) return;
    for (const key of [...this.#untold.keys()].slice(0, dropped)) this.#untold.delete(key);
    const message = `The other nodes cannot be told, and will not hear of ${dropped} changes`;
    reportInWords(this.#home.report, 'warning', 'nodes.unavailable', message);
  }
}

/** Those that may be kept: the newest. */
function newest(tellings: readonly Telling[]): readonly Telling[] {
  let characters = 0;
  const at = tellings.findLastIndex(({ letter: { uri = '' } }, index) => {
    characters += uri.length;
    return tellings.length - index > maxChanges || characters > maxCharacters;
  });
  return tellings.slice(at + 1);
}

const keyOf = ({ server, method, uri = '' }: Change): string => `${server} ${method} ${uri}`;
