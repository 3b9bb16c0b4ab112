/** What is said if none of the client's roots can be used. */
import type { Root, RootsReport } from '../../machines/roots-report.ts';

/** Why no root can be used, as a part of a sentence for a person. */
export function whyNoRoots(roots: readonly Root[], report: RootsReport): string {
  const unusable =
    roots.length === 1
      ? "the client's only root cannot be used"
      : `none of the client's ${roots.length} roots can be used`;
  switch (report.status) {
    case 'undeclared':
      return 'the client does not use roots';
    case 'unsupported':
      return `the client declares roots but does not support them: ${report.problem ?? 'it answered -32601'}`;
    case 'failed':
      return `roots were asked for without success: ${report.problem ?? 'the client gave no answer'}${roots.length === 0 ? '' : `; and from before, ${unusable}`}`;
    case 'known':
      if (!report.settled && roots.length === 0) {
        return 'roots were asked for, but the client has not answered yet';
      }
      return roots.length === 0 ? 'the client declared an empty list of roots' : unusable;
  }
}
