/** Tables over the projections of the dialects: what each revision gives. */
import { negotiateDialect } from '../../src/protocol/dialects/registry.ts';

export const versions = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'] as const;
/** A revision of these tests. */
export type Version = (typeof versions)[number];

/** What a projection gives in each revision. */
export type Row = { readonly [version in Version]: unknown };

/** The rows of a table: one for each revision. */
export const inEach = (expected: Row) =>
  versions.map((version) => [version, negotiateDialect(version), expected[version]] as const);

/** The same from one revision on, and something else before. */
export const since = (first: Version, then: unknown, before: unknown): Row =>
  Object.fromEntries(
    versions.map((version) => [version, version >= first ? then : before]),
  ) as unknown as Row;

/** What a projection gives, or the code of the error that it throws. */
export function outcome(project: () => unknown): unknown {
  try {
    return project();
  } catch (error) {
    return (error as { readonly code: unknown }).code;
  }
}
