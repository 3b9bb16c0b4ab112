/** The sentences of the specification, each with the rows that hold this project to it: `clauses-….md`, read. */
import { readFile } from 'node:fs/promises';

export interface Clause {
  /** The page of the specification. */
  readonly page: string;
  readonly quote: string;
  /** The sentence that a list's item stands under. */
  readonly under?: string | undefined;
  /** The ids of the rows, or why there is none. */
  readonly covered: readonly string[];
}

/** Why a sentence has no row. */
export const exemptions = ['clients', 'author', 'authorization', 'HTTP', 'host', 'below'] as const;

/** A sentence with its arrow, and what is under it where it begins with spaces. */
const line = /^( *)- (.*) → (.*)$/;

/** The sentences of a revision. */
export async function readClauses(revision: string): Promise<readonly Clause[]> {
  const url = new URL(`clauses-${revision}.md`, import.meta.url);
  const [, ...sections] = (await readFile(url, 'utf8')).split(/^## /m);
  return sections.flatMap((section) => {
    const [page = '', ...rest] = section.trimEnd().split('\n');
    let lead: string | undefined;
    return rest.filter(Boolean).map((text): Clause => {
      const [, indent = '', quote = '', arrow = ''] = line.exec(text) ?? [];
      if (quote === '') throw new Error(`No sentence and what covers it: "${text}"`);
      if (indent === '') lead = quote;
      const covered = [...arrow.matchAll(/`([^`]+)`/g)].map(([, id = '']) => id);
      return { page, quote, under: indent === '' ? undefined : lead, covered };
    });
  });
}
