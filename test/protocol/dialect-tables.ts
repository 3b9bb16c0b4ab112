/** Tables of the dialects' projections by revision. */
import { negotiateDialect } from '../../src/protocol/dialects/registry.ts';

export const versions = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'] as const;
/** A revision under test. */
export type Version = (typeof versions)[number];

/** Expected projections by revision. */
export type Row = { readonly [version in Version]: unknown };

/** Rows of a table, one per revision. */
export const inEach = (expected: Row) =>
  versions.map((version) => [version, negotiateDialect(version), expected[version]] as const);

/** One value from a revision on, and another before. */
export const since = (first: Version, then: unknown, before: unknown): Row =>
  Object.fromEntries(
    versions.map((version) => [version, version >= first ? then : before]),
  ) as unknown as Row;

/** The projection, or the code of the error it throws. */
export function outcome(project: () => unknown): unknown {
  try {
    return project();
  } catch (error) {
    return (error as { readonly code: unknown }).code;
  }
}
