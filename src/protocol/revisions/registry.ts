/** The revisions this runtime speaks, newest first, and how one is chosen. */
import { revision20241105 } from './2024-11-05.ts';
import { revision20250326 } from './2025-03-26.ts';
import { revision20250618 } from './2025-06-18.ts';
import { revision20251125 } from './2025-11-25.ts';
import type { Revision } from './revision.ts';

export const latestRevision: Revision = revision20251125;

const revisions: readonly Revision[] = [
  revision20251125,
  revision20250618,
  revision20250326,
  revision20241105,
];

/** Version strings, newest first. */
export const supportedVersions: readonly string[] = revisions.map(({ version }) => version);

/**
 * The revision for a session: the requested one where we speak it, else our latest. An unknown one is never echoed.
 *
 * @see MCP 2025-11-25, basic/lifecycle, "Version Negotiation"
 */
export function negotiateRevision(requested: string): Revision {
  return revisions.find(({ version }) => version === requested) ?? latestRevision;
}
