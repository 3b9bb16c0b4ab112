/** Why the client's roots did not choose the project, in words. */
import type { RootsReport } from '../../machines/roots-report.ts';

/** The reason why there is no usable root; for a person. */
export function whyNoRoots(
  roots: readonly { readonly problem?: { readonly message: string } }[],
  report: RootsReport,
): string {
  const faults = roots.flatMap(({ problem }) => (problem === undefined ? [] : [problem.message]));
  switch (report.status) {
    case 'undeclared':
      return 'the client does not declare the roots capability';
    case 'unsupported':
      return `the client declares roots but does not support them: ${report.problem ?? 'it answered -32601'}`;
    case 'failed':
      return `roots were asked for without success: ${report.problem ?? 'the client gave no answer'}`;
    case 'known':
      if (!report.settled && roots.length === 0) {
        return 'roots were asked for, but the client has not answered yet';
      }
      if (faults.length === 0) return 'the client declared an empty list of roots';
      return `none of the client's ${roots.length} roots can be used: ${listed(faults)}`;
  }
}

function listed(faults: readonly string[]): string {
  const more = faults.length > 3 ? `; and ${faults.length - 3} more` : '';
  return faults.slice(0, 3).join('; ') + more;
}
