import { describe, expect, test } from 'vitest';
import type { FrameEvent, TransitionEvent } from '../src/page-messages.ts';
import { sequenceLayout } from '../src/page/sequence-layout.ts';
import type { Row } from '../src/page/model.ts';

const frame = (seq: number, more: Partial<FrameEvent>): FrameEvent => ({
  kind: 'frame',
  seq,
  at: 0,
  direction: 'in',
  what: 'request',
  frame: '{}',
  ...more,
});
const moved = (seq: number, machine: string, to: string): TransitionEvent => ({
  ...{ kind: 'transition', seq, at: 0, machine, from: 'before', to, cause: 'x', event: '{}' },
});
const width = 800;

/** Items with the lanes at their ends. */
function drawn(rows: readonly Row[], answered: readonly number[] = []) {
  const layout = sequenceLayout(rows, new Set(answered), width);
  const laneAt = (x: number) => layout.lanes.find((lane) => lane.x === x)?.name;
  const items = layout.items.map((item) => {
    if (item.kind !== 'arrow') return item.label;
    return `${laneAt(item.fromX)} → ${laneAt(item.toX)}: ${item.label}`;
  });
  return { ...layout, items };
}

describe('sequenceLayout', () => {
  test('draws arrows from sender to receiver, and states on their machine’s lane', () => {
    const { items, lanes } = drawn([
      frame(1, { method: 'initialize', id: 0 }),
      moved(2, 'session', 'negotiated'),
      frame(3, { direction: 'out', method: 'roots/list', id: 's-1' }),
      frame(4, { what: 'notification', method: 'notifications/roots/list_changed' }),
      frame(5, { method: 'tools/call', subject: 'search_text', id: 7 }),
      frame(6, { direction: 'out', method: 'elicitation/create', id: 's-2' }),
      frame(7, { direction: 'out', what: 'notification', method: 'notifications/progress' }),
      frame(8, { direction: 'out', what: 'result', method: 'tools/call', id: 7, tookMs: 12 }),
    ]);
    expect(lanes.map(({ name }) => name)).toEqual(['client', 'session', 'roots', 'tools']);
    expect(items).toEqual([
      'client → session: initialize #0',
      'negotiated',
      'roots → client: roots/list #s-1',
      'client → roots: notifications/roots/list_changed',
      'client → tools: tools/call search_text #7',
      'tools → client: elicitation/create #s-2',
      'tools → client: notifications/progress',
      'tools → client: result · 12 ms · tools/call #7',
    ]);
  });

  test('labels errors with their reason and counts skipped messages', () => {
    const counted = { direction: 'in', label: 'ping', count: 400 } as const;
    const { items } = drawn([
      frame(1, { direction: 'out', what: 'result', method: 'tools/call', problem: 'no such file' }),
      { kind: 'skipped', seq: 'skipped-1', at: 0, counts: [counted] },
    ]);
    expect(items).toEqual([
      'tools → client: tool error: no such file',
      '400 more, only counted: → ping ×400',
    ]);
  });

  test('draws overlapping requests side by side, and open ones to the end', () => {
    const rows = [
      frame(1, { method: 'tools/call', id: 1 }),
      frame(2, { method: 'tools/call', id: 2 }),
      frame(3, { direction: 'out', what: 'result', method: 'tools/call', id: 1, answers: 1 }),
      frame(4, { method: 'tools/call', id: 3 }),
    ];
    const { spans, height } = sequenceLayout(rows, new Set([1, 4]), width);
    // The last request was answered, but its response is filtered out.
    expect(spans.map(({ seq, isOpen }) => [seq, isOpen])).toEqual([
      [1, false],
      [2, true],
    ]);
    expect(spans[1]?.x).toBeGreaterThan(spans[0]?.x ?? Infinity);
    expect(spans[1]?.bottom).toBe(height);
    expect(spans[0]?.bottom).toBeLessThan(height);
  });

  test('fits its width, however narrow it is and however long the labels are', () => {
    const long = 'x'.repeat(500);
    const rows = [
      frame(1, { method: 'tools/call', subject: long }),
      moved(2, 'task', long),
      moved(3, 'roots', 'querying.repeated'),
      moved(4, 'session', 'draining.settling'),
    ];
    for (const narrow of [300, 390, 700]) {
      const { items, times } = sequenceLayout(rows, new Set(), narrow);
      expect(times.length).toBe(narrow < 560 ? 0 : rows.length);
      for (const item of items) {
        expect(item.labelX + item.label.length * 6.6).toBeLessThanOrEqual(narrow);
        if (item.kind === 'state') expect(item.labelX - 8 + item.width).toBeLessThanOrEqual(narrow);
      }
    }
  });
});
