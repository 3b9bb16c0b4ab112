/** What a walk has not looked at, and why, so that it is not taken for searched. */
import { printableName } from 'mcp-actors/internal';
import { isSliceOver, nextSlice } from '../globs/time-slices.ts';

/**
 * `ignored`, `hidden`: by the rules that the call can lift. `outside`: a link that leads out of the
 * roots. `broken`: a link that leads nowhere. `special`: a device, a pipe or a socket. `unnamed`:
 * its name is not UTF-8. `links`: linked directories beyond those that are followed.
 */
export type LeftOutKind =
  | 'ignored'
  | 'hidden'
  | 'outside'
  | 'broken'
  | 'special'
  | 'unnamed'
  | 'links';

const phrases: { readonly [K in LeftOutKind]: string } = {
  ignored: 'ignored',
  hidden: 'hidden',
  outside: 'linked to outside of the roots',
  broken: 'broken links',
  special: 'devices, pipes or sockets',
  unnamed: 'with names that are not UTF-8',
  links: 'links to directories beyond the first ones',
};

/** How many paths are kept to tell what is below them; more are counted. */
const maxKept = 50_000;
const maxExamples = 4;

export class LeftOut {
  readonly #paths = new Map<LeftOutKind, Set<string>>();
  readonly #others = new Map<LeftOutKind, number>();

  /** @param path relative to the root */
  add(kind: LeftOutKind, path: string): void {
    const paths = this.#paths.get(kind) ?? new Set();
    this.#paths.set(kind, paths);
    if (paths.size < maxKept) paths.add(path);
    else if (!paths.has(path)) this.#others.set(kind, (this.#others.get(kind) ?? 0) + 1);
  }

  /**
   * Forgets what does not count after all.
   *
   * @throws the signal's reason
   */
  async keep(
    counts: (path: string, kind: LeftOutKind) => boolean,
    signal: AbortSignal,
  ): Promise<void> {
    for (const [kind, paths] of this.#paths) {
      for (const path of paths) {
        if (isSliceOver()) await nextSlice(signal);
        if (!counts(path, kind)) paths.delete(path);
      }
    }
  }

  has(kind: LeftOutKind, path: string): boolean {
    return this.#paths.get(kind)?.has(path) === true;
  }

  /** True if a path, or a directory that it is in, is ignored or hidden. */
  hides(path: string): boolean {
    for (let end = path.length; end !== -1; end = path.lastIndexOf('/', end - 1)) {
      const above = path.slice(0, end);
      if (this.has('ignored', above) || this.has('hidden', above)) return true;
    }
    return false;
  }

  /** How many of a kind. */
  count(kind: LeftOutKind): number {
    return (this.#paths.get(kind)?.size ?? 0) + (this.#others.get(kind) ?? 0);
  }

  /** A sentence with examples, and how to include what can be included; none if all was looked at. */
  sentences(): string[] {
    const kinds = (Object.keys(phrases) as LeftOutKind[]).filter((kind) => this.count(kind) > 0);
    if (kinds.length === 0) return [];
    const parts = kinds.map(
      (kind) => `${this.count(kind)} ${phrases[kind]} (${this.#examples(kind)})`,
    );
    const options = kinds.filter((kind) => kind === 'ignored' || kind === 'hidden');
    const including = options.map((kind) => `${kind}: true`).join(' and ');
    const verb = options.length === 1 ? 'includes' : 'include';
    const how =
      including === ''
        ? ''
        : `; ${including} ${verb} them, and so does a glob that begins with such a path`;
    return [`Left out: ${parts.join(', ')}${how}.`];
  }

  #examples(kind: LeftOutKind): string {
    const paths = [...(this.#paths.get(kind) ?? [])];
    // The shallow ones tell most.
    const first = paths.toSorted(
      (left, right) => left.split('/').length - right.split('/').length || (left < right ? -1 : 1),
    );
    const shown = first.slice(0, maxExamples).map((path) => printableName(path, 80));
    return this.count(kind) > shown.length ? `${shown.join(', ')}, …` : shown.join(', ');
  }
}
