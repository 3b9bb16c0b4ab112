/** Formats a report for terminals and for programs. */
import type { CheckReport, InvariantFinding } from './check-report.ts';
import type { Clause, Demand } from './invariants/invariant.ts';
import { formatResponse } from './http/exchange.ts';
import type { ObservedExchange } from './http/exchange.ts';
import { formatSequence } from './move.ts';
import { formatExit } from './trace.ts';
import type { Happening, Trace } from './trace.ts';

const order: readonly Demand[] = ['MUST', 'SHOULD', 'advice'];
/** Characters shown of a transcript line. */
const cut = 200;
/** Stderr lines shown of a failed server. */
const stderrLines = 3;
/** Lines shown from the start and the end of a long transcript. */
const shownLines = { first: 30, last: 10 } as const;

/** True if a MUST is broken. */
export function breaksMust({ findings }: CheckReport): boolean {
  return findings.some(({ outcome, demand }) => outcome === 'broken' && demand === 'MUST');
}

export function reportText(report: CheckReport): string {
  const { server, revision, plays, seed, interrupted, findings, notes } = report;
  const of = (outcome: InvariantFinding['outcome']) =>
    order.flatMap((demand) =>
      findings.filter((finding) => finding.outcome === outcome && finding.demand === demand),
    );
  const [broken, holding, untried] = [of('broken'), of('holds'), of('untried')];
  const who = server ? `${server.name} ${server.version}` : 'an unidentified server';
  return [
    `Checked ${who}, revision ${revision}: ${plays} plays, seed ${seed}.`,
    ...(interrupted ? ['Interrupted: results of the plays so far.'] : []),
    ...section(
      'Broken',
      broken.map((finding) => brokenText(finding, revision)),
    ),
    ...section(
      'Holds',
      holding.map((finding) => `  ✓ ${head(finding)} (${finding.plays})`),
    ),
    ...section(
      'Not tested',
      untried.map((finding) => `  – ${head(finding)}\n    needs ${finding.needs}`),
    ),
    ...section(
      'Notes',
      notes.map((note) => `  ${note}`),
    ),
    '',
    summary(findings),
    '',
  ].join('\n');
}

/** Converts the report for `JSON.stringify`. */
export function reportJson(report: CheckReport): object {
  const { findings, revision, ...rest } = report;
  return {
    ...rest,
    revision,
    holds: !report.interrupted && !breaksMust(report),
    findings: findings.map(({ breach, clause, ...finding }) => ({
      ...finding,
      clause: { ...clause, url: urlOf(clause, revision) },
      ...(breach
        ? {
            breach: {
              detail: breach.detail,
              sequence: formatSequence(breach.sequence),
              plays: breach.plays,
              again: breach.again,
              transcript: transcript(breach.trace),
            },
          }
        : {}),
    })),
  };
}

function section(title: string, lines: readonly string[]): readonly string[] {
  return lines.length === 0 ? [] : ['', title, ...lines];
}

function head({ demand, id, title }: InvariantFinding): string {
  return `${demand.padEnd(6)} ${id}: ${title}`;
}

function brokenText(finding: InvariantFinding, revision: string): string {
  const { clause, breach, plays } = finding;
  if (!breach) return head(finding);
  const { detail, sequence, trace, again } = breach;
  const notAgain =
    again === undefined
      ? '; it was not played again'
      : '; it did not recur when the first was played again';
  return [
    `  ✗ ${head(finding)}`,
    `    ${clause.page}, "${clause.heading}": ${clause.quote}`,
    `    ${urlOf(clause, revision)}`,
    `    Seen: ${detail}`,
    `    In ${breach.plays} of ${plays} plays${again ? '' : notAgain}.`,
    `    Shortest sequence: ${formatSequence(sequence) || '(only the end of the input)'}`,
    ...abridged(transcript(trace)).map((line) => `      ${line}`),
    '',
  ].join('\n');
}

function urlOf({ page }: Clause, revision: string): string {
  if (page.startsWith('JSON-RPC')) return 'https://www.jsonrpc.org/specification';
  return `https://modelcontextprotocol.io/specification/${revision}/${page}`;
}

/** Everything sent and received, one line each. */
function transcript({ happenings }: Trace): readonly string[] {
  const end = happenings.findIndex(({ kind }) => kind === 'ended');
  // After the server's end, a timed-out wait is no news.
  const telling = happenings.filter(({ kind }, at) => end === -1 || at <= end || kind !== 'waited');
  return telling.flatMap((one) => [lineOf(one) ?? [], lastWords(one)].flat());
}

/** Last stderr lines of a failed server. */
function lastWords(one: Happening): readonly string[] {
  if (one.kind !== 'ended' || one.exit.code === null || one.exit.code === 0) return [];
  const lines = (one.exit.stderr ?? '').trim().split('\n');
  return lines
    .slice(-stderrLines)
    .filter((line) => line.trim() !== '')
    .map((line) => `  stderr: ${shortened(line)}`);
}

function abridged(lines: readonly string[]): readonly string[] {
  const { first, last } = shownLines;
  const left = lines.length - first - last;
  if (left <= 1) return lines;
  return [
    ...lines.slice(0, first),
    `… ${left} lines omitted; use --json to see them`,
    ...lines.slice(-last),
  ];
}

function lineOf(one: Happening): string | undefined {
  switch (one.kind) {
    case 'sent':
      return `→ ${one.note === undefined ? '' : `(${one.note}) `}${shortened(one.text)}`.trimEnd();
    case 'answered':
      return isWorthShowing(one.exchange)
        ? `← ${shortened(formatResponse(one.exchange))}`
        : undefined;
    case 'over':
      return undefined;
    case 'received':
      return `← ${shortened(one.text)}`;
    case 'waited':
      return one.ok ? undefined : '… timed out';
    case 'input-ended':
      return '→ (end of the input)';
    case 'ended':
      // Over HTTP the conversation ends, not the server.
      if (one.exit.process === 'none' && one.exit.failure === undefined) return undefined;
      return `← (the server ended ${formatExit(one.exit)})`;
    case 'overdue':
      return '… did not exit in time and was killed';
  }
}

/** True if a response says more than the message it contains. */
function isWorthShowing(exchange: ObservedExchange): boolean {
  return exchange.status !== 200 || exchange.method !== 'POST';
}

function shortened(text: string): string {
  return text.length > cut ? `${text.slice(0, cut)}… (${text.length} characters)` : text;
}

function summary(findings: readonly InvariantFinding[]): string {
  const number = (outcome: InvariantFinding['outcome'], demand?: Demand) =>
    findings.filter((one) => one.outcome === outcome && (demand ?? one.demand) === one.demand)
      .length;
  const broken = order.map((demand) => `${number('broken', demand)} ${demand}`).join(', ');
  return `${number('holds')} hold; broken: ${broken}; ${number('untried')} not tested.`;
}
