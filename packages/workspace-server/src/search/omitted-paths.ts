/** Records paths a walk omitted and why, so that they are not mistaken for searched. */
import { printableName } from 'mcp-actors/internal';
import { isSliceOver, nextSlice } from '../globs/time-slices.ts';

/**
 * `ignored`, `hidden`: by rules that the call can lift. `outside`: a link to outside the roots.
 * `broken`: a dangling link. `special`: a device, pipe or socket. `unnamed`: a name that is not
 * UTF-8. `links`: linked directories beyond the limit.
 */
export type OmissionKind =
  | 'ignored'
  | 'hidden'
  | 'outside'
  | 'broken'
  | 'special'
  | 'unnamed'
  | 'links';

const phrases: { readonly [K in OmissionKind]: string } = {
  ignored: 'ignored',
  hidden: 'hidden',
  outside: 'links to outside the roots',
  broken: 'broken links',
  special: 'devices, pipes or sockets',
  unnamed: 'with names that are not UTF-8',
  links: 'links to directories beyond the limit',
};

/** Paths stored per kind; more are only counted. */
const maxKept = 50_000;
const maxExamples = 4;

export class OmittedPaths {
  readonly #paths = new Map<OmissionKind, Set<string>>();
  readonly #others = new Map<OmissionKind, number>();

  /** @param path relative to the root */
  add(kind: OmissionKind, path: string): void {
    const paths = this.#paths.get(kind) ?? new Set();
    this.#paths.set(kind, paths);
    if (paths.size < maxKept) paths.add(path);
    else if (!paths.has(path)) this.#others.set(kind, (this.#others.get(kind) ?? 0) + 1);
  }

  /**
   * Drops the entries for which `counts` is false.
   *
   * @throws the signal's reason
   */
  async keep(
    counts: (path: string, kind: OmissionKind) => boolean,
    signal: AbortSignal,
  ): Promise<void> {
    for (const [kind, paths] of this.#paths) {
      for (const path of paths) {
        if (isSliceOver()) await nextSlice(signal);
        if (!counts(path, kind)) paths.delete(path);
      }
    }
  }

  has(kind: OmissionKind, path: string): boolean {
    return this.#paths.get(kind)?.has(path) === true;
  }

  /** True if a path or one of its parents is ignored or hidden. */
  hides(path: string): boolean {
    for (let end = path.length; end !== -1; end = path.lastIndexOf('/', end - 1)) {
      const above = path.slice(0, end);
      if (this.has('ignored', above) || this.has('hidden', above)) return true;
    }
    return false;
  }

  /** Number of omitted paths of a kind. */
  count(kind: OmissionKind): number {
    return (this.#paths.get(kind)?.size ?? 0) + (this.#others.get(kind) ?? 0);
  }

  /** Summary sentence with examples and how to include the paths; empty if nothing was omitted. */
  sentences(): string[] {
    const kinds = (Object.keys(phrases) as OmissionKind[]).filter((kind) => this.count(kind) > 0);
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
        : `; ${including} ${verb} them, and so does a glob that starts with their path`;
    return [`Left out: ${parts.join(', ')}${how}.`];
  }

  #examples(kind: OmissionKind): string {
    const paths = [...(this.#paths.get(kind) ?? [])];
    // Paths near the root are the most telling examples.
    const first = paths.toSorted(
      (left, right) => left.split('/').length - right.split('/').length || (left < right ? -1 : 1),
    );
    const shown = first.slice(0, maxExamples).map((path) => printableName(path, 80));
    return this.count(kind) > shown.length ? `${shown.join(', ')}, …` : shown.join(', ');
  }
}
