import { describe, expect, test } from 'vitest';
import type { CheckReport } from '../src/check-report.ts';
import { reportJson, reportText } from '../src/report-text.ts';
import { Trace } from '../src/trace.ts';
import type { Happening } from '../src/trace.ts';

const received = (text: string): Happening => ({ kind: 'received', text, value: undefined });

/** A report with one finding, broken in this way. */
function report(happenings: readonly Happening[], more: Partial<CheckReport> = {}): CheckReport {
  const finding = {
    id: 'stdout',
    title: 'The output contains only messages.',
    demand: 'MUST',
    clause: { page: 'basic/transports', heading: 'stdio', quote: 'The server MUST NOT' },
    outcome: 'broken',
    plays: 3,
    needs: 'a server',
    breach: {
      sequence: [{ type: 'initialize' }],
      trace: new Trace(happenings),
      detail: 'Line is not JSON',
      evidence: 'message',
      plays: 2,
      again: true,
    },
  } as const;
  const base = { server: undefined, revision: '2025-11-25', seed: 1, plays: 3, notes: [] };
  return { ...base, interrupted: false, findings: [finding], ...more };
}

describe('reportText', () => {
  test('shows how a failed server ended, and no wait after that', () => {
    const stderr = 'Traceback:\n  one\n  two\nValueError: no\n';
    const text = reportText(
      report([
        { kind: 'waited', for: 'fence', ok: false },
        { kind: 'ended', exit: { code: 1, signal: null, stderr } },
        { kind: 'waited', for: 'settled', ok: false },
      ]),
    );
    expect(text).toContain(
      [
        '    Shortest sequence: initialize',
        '      … timed out',
        '      ← (the server ended with code 1)',
        '        stderr:   one',
        '        stderr:   two',
        '        stderr: ValueError: no',
        '',
      ].join('\n'),
    );
  });

  test('omits stderr of a server that exited normally or was killed', () => {
    for (const exit of [
      { code: 0, signal: null, stderr: 'ready' },
      { code: null, signal: 'SIGKILL', stderr: 'ready' },
    ]) {
      expect(reportText(report([{ kind: 'ended', exit }]))).not.toContain('ready');
    }
  });

  test('omits the middle of a long transcript, which the JSON contains', () => {
    const lines = Array.from({ length: 100 }, (_, number) => received(`line ${number}`));
    const text = reportText(report(lines));
    expect(text).toContain(
      '← line 29\n      … 60 lines omitted; use --json to see them\n      ← line 90\n',
    );
    const json = JSON.stringify(reportJson(report(lines)));
    expect(json).toContain('line 50');
    // Omitting a single line would save nothing.
    expect(reportText(report(lines.slice(0, 41)))).toContain('line 30');
  });

  test('mentions an interruption, and a breach that was not replayed', () => {
    const [finding] = report([]).findings;
    const breach = finding?.breach && { ...finding.breach, again: undefined };
    const interrupted = report([], {
      interrupted: true,
      findings: finding && breach ? [{ ...finding, breach }] : [],
    });
    expect(reportText(interrupted)).toContain('Interrupted: ');
    expect(reportText(interrupted)).toContain('In 2 of 3 plays; it was not played again.');
    expect(reportJson({ ...interrupted, findings: [] })).toMatchObject({ holds: false });
    expect(reportJson(report([], { findings: [] }))).toMatchObject({ holds: true });
  });
});
