/**
 * Draws any machine, as SVG: a box for each state, one below the other, with a row for each
 * transition, and on the right an arrow from each row to the state that it leads to. Our own
 * machines have charts that are drawn in advance; those of a server's tools are drawn by this.
 */
import type {
  MachineDefinition,
  StateDefinition,
  TransitionDefinition,
} from './machine-definition.ts';

/** An element of SVG: the page makes it one, the command writes it as text. */
export interface SvgElement {
  readonly tag: string;
  readonly attributes: { readonly [name: string]: string | number };
  readonly children: readonly (SvgElement | string)[];
}

/** Units of the drawing: about pixels. */
const character = 7.3;
const size = { header: 24, row: 17, inset: 12, gap: 10, lane: 11, margin: 6 };
const maxCharacters = 64;

interface Row {
  readonly text: string;
  /** Ids of the states that it leads to. */
  readonly targets: readonly string[];
  readonly y: number;
}

interface Box {
  readonly id: string;
  /** As classes name it. */
  readonly path: string;
  readonly title: string;
  readonly depth: number;
  readonly holdsOthers: boolean;
  readonly top: number;
  readonly rows: readonly Row[];
  bottom: number;
}

interface Arrow {
  readonly from: Box;
  readonly row: Row;
  readonly to: Box;
  lane: number;
}

/**
 * A state is a group with the classes `state` and `s-` with its path (`s-paying_card`), a transition
 * one with `transition` and `t-` with both paths (`t-paying_card--paid`).
 */
export function drawMachine(definition: MachineDefinition): SvgElement {
  const boxes = boxesOf(definition);
  const arrows = arrowsBetween(boxes);
  const inner = Math.max(...boxes.map((box) => innerWidth(box)));
  const lanes = Math.max(0, ...arrows.map(({ lane }) => lane + 1));
  const width = inner + (lanes + 1) * size.lane + 2 * size.margin;
  const height = Math.max(...boxes.map(({ bottom }) => bottom)) + 2 * size.margin;
  const group = element('g', { transform: `translate(${size.margin} ${size.margin})` }, [
    ...boxes.map((box) => drawBox(box, inner)),
    ...boxes.flatMap((box) => box.rows.map((row) => drawRow(box, row, inner, arrows))),
  ]);
  return element(
    'svg',
    {
      xmlns: 'http://www.w3.org/2000/svg',
      viewBox: `0 0 ${Math.ceil(width)} ${Math.ceil(height)}`,
      width: Math.ceil(width),
      'font-family': 'ui-monospace, SFMono-Regular, Menlo, Consolas, monospace',
      'font-size': 12,
    },
    [group],
  );
}

/** An element as text. */
export function svgText({ tag, attributes, children }: SvgElement): string {
  const written = Object.entries(attributes).map(([name, value]) => ` ${name}="${escaped(value)}"`);
  const inside = children.map((child) =>
    typeof child === 'string' ? escaped(child) : svgText(child),
  );
  return `<${tag}${written.join('')}>${inside.join('')}</${tag}>`;
}

/** The part of a class that names a state: a key may hold spaces. */
export function classPath(path: readonly string[]): string {
  return path.join('_').replaceAll(/\s/g, '-');
}

function boxesOf(machine: MachineDefinition): readonly Box[] {
  const boxes: Box[] = [];
  let y = 0;
  const add = (state: StateDefinition, path: readonly string[], isInitial: boolean): void => {
    const inside = Object.entries(state.states ?? {});
    const top = y;
    y += size.header;
    const rows = rowsOf(state).map((row): Row => {
      y += size.row;
      return { ...row, y: y - size.row / 2 };
    });
    const box: Box = {
      id: state.id ?? [machine.id, ...path].join('.'),
      path: classPath(path),
      title: `${isInitial ? '● ' : ''}${path.at(-1) ?? machine.id}${state.type === 'final' ? ' ◉' : ''}`,
      depth: path.length,
      holdsOthers: inside.length > 0,
      ...{ top, rows, bottom: 0 },
    };
    boxes.push(box);
    y += size.gap / 2;
    for (const [key, child] of inside) {
      add(child, [...path, key], state.type === 'parallel' || key === state.initial);
    }
    box.bottom = y;
    y += size.gap;
  };
  add(machine, [], false);
  return boxes;
}

function rowsOf(state: StateDefinition): readonly Omit<Row, 'y'>[] {
  const { on = {}, after = {}, always = [], onDone = [], invoke = [] } = state;
  const rows = (cause: string, transitions: readonly TransitionDefinition[]) =>
    transitions.map(({ target = [], guard, actions = [] }) => {
      const when = guard === undefined ? '' : ` [${guard}]`;
      const then = actions.length > 0 ? ` / ${actions.join(', ')}` : '';
      return { text: cut(`${cause}${when}${then}`), targets: target.map((id) => id.slice(1)) };
    });
  return [
    ...Object.entries(on).flatMap(([event, transitions]) => rows(event, transitions)),
    ...Object.entries(after).flatMap(([delay, transitions]) => rows(`after ${delay}`, transitions)),
    ...invoke.flatMap(({ src, onDone: done = [], onError: failed = [] }) => [
      ...rows(`${src} done`, done),
      ...rows(`${src} failed`, failed),
    ]),
    ...rows('done', onDone),
    ...rows('always', always),
  ];
}

/** Short arrows are the innermost, and no two share a lane beside each other. */
function arrowsBetween(boxes: readonly Box[]): readonly Arrow[] {
  const byId = new Map(boxes.map((box) => [box.id, box]));
  const arrows = boxes.flatMap((from) =>
    from.rows.flatMap((row) =>
      row.targets.flatMap((id): Arrow[] => {
        const to = byId.get(id);
        return to ? [{ from, row, to, lane: 0 }] : [];
      }),
    ),
  );
  const placed: Arrow[] = [];
  for (const arrow of arrows.toSorted((a, b) => length(a) - length(b))) {
    while (placed.some((other) => other.lane === arrow.lane && overlap(other, arrow))) arrow.lane++;
    placed.push(arrow);
  }
  return placed;
}

const entry = (box: Box) => box.top + size.header / 2;
const length = ({ row, to }: Arrow) => Math.abs(row.y - entry(to));

function overlap(a: Arrow, b: Arrow): boolean {
  const [top, bottom] = [Math.min(a.row.y, entry(a.to)), Math.max(a.row.y, entry(a.to))];
  return Math.min(b.row.y, entry(b.to)) <= bottom && Math.max(b.row.y, entry(b.to)) >= top;
}

const innerWidth = ({ title, rows, depth }: Box) =>
  character * Math.max(title.length, ...rows.map(({ text }) => text.length)) +
  2 * size.inset * (depth + 1);

function drawBox(box: Box, inner: number): SvgElement {
  const { left, right } = sides(box, inner);
  const outline = `M${left},${box.top}H${right}V${box.bottom}H${left}Z`;
  const names = `${box.holdsOthers ? 'cluster' : 'node'} state s-${box.path}`;
  return element('g', { class: names }, [
    element('path', {
      d: outline,
      fill: 'none',
      stroke: 'currentColor',
      'stroke-linejoin': 'round',
    }),
    label(box.title, left + size.inset, box.top + 16),
  ]);
}

function drawRow(box: Box, row: Row, inner: number, arrows: readonly Arrow[]): SvgElement {
  const { left } = sides(box, inner);
  const drawn = arrows.filter((arrow) => arrow.row === row);
  const names = drawn.map(({ to }) => ` t-${box.path}--${to.path}`).join('');
  return element('g', { class: `transition${names}` }, [
    label(row.text, left + size.inset, row.y + 4),
    ...drawn.flatMap((arrow) => drawArrow(arrow, inner)),
  ]);
}

function drawArrow({ from, row, to, lane }: Arrow, inner: number): readonly SvgElement[] {
  const x = inner + (lane + 1) * size.lane;
  const [start, end, y] = [sides(from, inner).right, sides(to, inner).right, entry(to)];
  const line = `M${start},${row.y}H${x}V${y}H${end + 7}`;
  return [
    element('path', { d: line, fill: 'none', stroke: 'currentColor' }),
    element('polygon', {
      points: `${end},${y} ${end + 7},${y - 4} ${end + 7},${y + 4}`,
      fill: 'currentColor',
    }),
  ];
}

function sides({ depth }: Box, inner: number) {
  return { left: depth * size.inset, right: inner - depth * size.inset };
}

const label = (text: string, x: number, y: number) =>
  element('text', { x, y, fill: 'currentColor' }, [text]);

function element(
  tag: string,
  attributes: SvgElement['attributes'],
  children: SvgElement['children'] = [],
): SvgElement {
  return { tag, attributes, children };
}

function cut(text: string): string {
  return text.length > maxCharacters ? `${text.slice(0, maxCharacters - 1)}…` : text;
}

const entities: { readonly [character: string]: string } = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
};

function escaped(value: string | number): string {
  return String(value).replaceAll(/[&<>"]/g, (each) => entities[each] ?? each);
}
