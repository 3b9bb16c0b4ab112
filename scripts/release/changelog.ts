/** The changelog, read: what stands in each release. */

interface Section {
  readonly title: string;
  /** Each on one line. */
  readonly entries: readonly string[];
}

interface ChangelogRelease {
  /** `Unreleased` or a version. */
  readonly version: string;
  /** As it stands there. */
  readonly text: string;
  readonly sections: readonly Section[];
}

const unreleased = 'Unreleased';

function releasesIn(changelog: string): readonly ChangelogRelease[] {
  return changelog
    .split(/^## /m)
    .slice(1)
    .map((part) => {
      const [heading = '', ...lines] = part.split('\n');
      const text = lines.join('\n').trim();
      return { version: heading.split(' ')[0] ?? '', text, sections: sectionsIn(text) };
    });
}

function sectionsIn(text: string): readonly Section[] {
  return text
    .split(/^### /m)
    .slice(1)
    .map((part) => {
      const [title = '', ...lines] = part.split('\n');
      const entries = lines
        .join('\n')
        .split(/^- /m)
        .slice(1)
        .map((entry) => entry.trim().replaceAll(/\s+/g, ' '));
      return { title: title.trim(), entries };
    });
}

/** By how much of it an entry is taken for another one's second copy, words. */
const wordsOfBeginning = 8;

const beginningOf = (entry: string): string =>
  entry.toLowerCase().split(/\W+/).filter(Boolean).slice(0, wordsOfBeginning).join(' ');

/** What stands twice in a release: a section, or an entry that begins as another one does. */
export function repeatedIn(changelog: string): readonly string[] {
  return releasesIn(changelog).flatMap(({ version, sections }) => [
    ...repeated(sections.map(({ title }) => title)).map(
      (title) => `${version} has the section "${title}" twice`,
    ),
    ...repeated(sections.flatMap(({ entries }) => entries.map(beginningOf))).map(
      (beginning) => `${version} has two entries that begin with "${beginning}"`,
    ),
  ]);
}

const repeated = (texts: readonly string[]): readonly string[] => [
  ...new Set(texts.filter((text, index) => texts.indexOf(text) !== index)),
];

/** What a release of this version says of itself; undefined if the changelog has none. */
export function notesOf(changelog: string, version: string): string | undefined {
  const text = releasesIn(changelog).find((release) => release.version === version)?.text;
  return text === '' ? undefined : text;
}

/**
 * Gives what is unreleased this version, unless the changelog has it already.
 *
 * @param date as 2026-11-23
 * @throws {Error} there is nothing to release
 */
export function withReleased(changelog: string, version: string, date: string): string {
  if (notesOf(changelog, version) !== undefined) return changelog;
  if (notesOf(changelog, unreleased) === undefined) {
    throw new Error(`CHANGELOG.md has neither ${version} nor anything under "${unreleased}"`);
  }
  return changelog.replace(`## ${unreleased}\n`, `## ${version} - ${date}\n`);
}
