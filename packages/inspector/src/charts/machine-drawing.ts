/**
 * Draws a machine as SVG: state boxes stacked vertically, a row per transition, and on the right an
 * arrow from each row to its target. Rows wrap to the available width, so text keeps its size and
 * nothing overlaps.
 */
import { boxesOf, truncate, flattenBoxes } from './chart-boxes.ts';
import type { Box, BoxRow, ShownStates } from './chart-boxes.ts';
import type { MachineDefinition } from './machine-definition.ts';

/** An SVG element, which the page turns into DOM and the command into text. */
export interface SvgElement {
  readonly tag: string;
  readonly attributes: { readonly [name: string]: string | number };
  readonly children: readonly (SvgElement | string)[];
}

/** Options of a drawing. */
export interface DrawnView extends ShownStates {
  /** Maximum width in drawing units; text is 12 units high. */
  readonly width: number;
}

/** Drawing units: pixels at scale 1. */
const font = 12;
const character = 7.3;
const size = { header: 22, line: 16, inset: 9, gap: 7, lane: 9, margin: 4 };
/** Minimum width of a box, however much space the arrows take. */
const minWidth = 120;

/** Standalone picture: scaled down to a phone's screen, its letters are still 11 pixels high. */
const picture: DrawnView = { width: 372 };
const pictureScale = 1.2;

/** Vertical lane shared by all arrows to one state, to the right of all boxes. */
interface Lane {
  readonly to: Box;
  /** Lane index, counted from the boxes outward. */
  readonly at: number;
}

/**
 * Draws a machine. Each state is a group with the classes `state` and `s-PATH` (`s-paying_card`),
 * each transition one with `transition` and `t-FROM--TO` (`t-paying_card--paid`).
 */
export function drawMachine(definition: MachineDefinition, view: DrawnView = picture): SvgElement {
  const { root, marked } = boxesOf(definition, view);
  const boxes = flattenBoxes(root);
  const lanes = lanesOf(boxes);
  const arrowRoom = (Math.max(-1, ...lanes.map(({ at }) => at)) + 2) * size.lane;
  const room = Math.max(minWidth, view.width - arrowRoom - 2 * size.margin);
  const inner = Math.min(room, Math.ceil(Math.max(...boxes.map(naturalWidth))));
  const height = place(root, inner, 0) + 2 * size.margin;
  const width = inner + arrowRoom + 2 * size.margin;
  const rows = boxes.flatMap((box) =>
    box.rows.map((row) => ({
      isMarked: row === marked,
      drawn: drawRow(box, row, inner, lanes, row === marked ? view.marked?.as : undefined),
    })),
  );
  const group = element('g', { transform: `translate(${size.margin} ${size.margin})` }, [
    ...boxes.map((box) => drawBox(box, inner, view.isOpen !== undefined)),
    // Draw the highlighted arrow last, on top of others in its lane.
    ...rows.toSorted((a, b) => Number(a.isMarked) - Number(b.isMarked)).map(({ drawn }) => drawn),
  ]);
  const scale = view === picture ? pictureScale : 1;
  return element(
    'svg',
    {
      xmlns: 'http://www.w3.org/2000/svg',
      viewBox: `0 0 ${width} ${Math.ceil(height)}`,
      width: Math.round(width * scale),
      'font-family': 'ui-monospace, SFMono-Regular, Menlo, Consolas, monospace',
      'font-size': font,
    },
    [group],
  );
}

/** Serializes an element. */
export function svgText({ tag, attributes, children }: SvgElement): string {
  const written = Object.entries(attributes).map(
    ([name, value]) => ` ${name}="${escapeXml(value)}"`,
  );
  const inside = children.map((child) =>
    typeof child === 'string' ? escapeXml(child) : svgText(child),
  );
  return `<${tag}${written.join('')}>${inside.join('')}</${tag}>`;
}

/** Assigns lanes: shorter arrows get inner lanes, and overlapping arrows get different ones. */
function lanesOf(boxes: readonly Box[]): readonly Lane[] {
  /** Vertical order of boxes and rows. */
  const order = new Map(
    [...boxes.flatMap((box) => [box, ...box.rows])].map((each, at) => [each, at]),
  );
  const placeOf = (each: Box | BoxRow) => order.get(each) ?? 0;
  const byTarget = new Map<Box, BoxRow[]>();
  for (const row of boxes.flatMap(({ rows }) => rows)) {
    for (const { box } of row.targets) byTarget.set(box, [...(byTarget.get(box) ?? []), row]);
  }
  const spans = [...byTarget].map(([to, rows]) => {
    const ends = [to, ...rows].map(placeOf);
    return { to, at: 0, first: Math.min(...ends), last: Math.max(...ends) };
  });
  const placed: typeof spans = [];
  for (const lane of spans.toSorted((a, b) => a.last - a.first - (b.last - b.first))) {
    const isTaken = ({ at, first, last }: (typeof spans)[number]) =>
      at === lane.at && first <= lane.last && last >= lane.first;
    while (placed.some(isTaken)) lane.at++;
    placed.push(lane);
  }
  return placed;
}

/**
 * Sets the vertical positions of a box and its children.
 * @returns top of the next box
 */
function place(box: Box, inner: number, top: number): number {
  const fitting = charactersIn(box, inner);
  let y = top + size.header;
  box.top = top;
  for (const row of box.rows) {
    row.lines = wrapped(row.text, fitting);
    row.y = y + size.line / 2;
    y += row.lines.length * size.line;
  }
  if (box.rows.length > 0) y += size.gap / 2;
  for (const each of box.inside) y = place(each, inner, y) + size.gap;
  box.bottom = y;
  return y;
}

/**
 * Wraps text to a number of characters per line, between words where possible. Continuation lines
 * are indented.
 */
function wrapped(text: string, fitting: number): readonly string[] {
  const lines: string[] = [];
  let rest = text;
  while (rest.length > fitting) {
    const room = rest.slice(0, fitting + 1);
    const at = Math.max(...[' ', '.', ','].map((each) => room.lastIndexOf(each)), 2);
    const end = at > 2 ? at + Number(room[at] !== ' ' && at < fitting) : fitting;
    lines.push(rest.slice(0, end));
    rest = `  ${rest.slice(end).trimStart()}`;
  }
  return [...lines, rest];
}

const naturalWidth = ({ title, rows, depth }: Box) =>
  character * Math.max(title.length + 2, ...rows.map(({ text }) => text.length)) +
  2 * size.inset * (depth + 1);

function charactersIn({ depth }: Box, inner: number): number {
  return Math.floor((inner - 2 * size.inset * (depth + 1)) / character + 0.01);
}

function drawBox(box: Box, inner: number, isFoldable: boolean): SvgElement {
  const { path, top, bottom, isOpen, isActive, hasMore } = box;
  const { left, right } = sides(box, inner);
  const names = [
    box.inside.length > 0 ? 'cluster' : 'node',
    `state s-${path}`,
    ...(isActive ? ['active'] : []),
    ...(isOpen ? [] : ['folded']),
  ];
  const isButton = isFoldable && hasMore;
  const mark = isButton ? (isOpen ? '▾ ' : '▸ ') : '';
  const title = truncate(`${mark}${box.title}`, charactersIn(box, inner));
  const heading = [label(title, left + size.inset, top + 15)];
  const area = { x: left, y: top, width: right - left, height: size.header };
  return element('g', { class: names.join(' ') }, [
    element('path', {
      d: `M${left},${top}H${right}V${bottom}H${left}Z`,
      fill: 'none',
      stroke: 'currentColor',
      'stroke-linejoin': 'round',
    }),
    ...(isButton
      ? [
          element(
            'g',
            {
              ...{ role: 'button', tabindex: 0, 'data-state': path },
              ...{ 'aria-expanded': String(isOpen), 'aria-label': box.title },
            },
            [element('rect', { ...area, fill: 'transparent' }), ...heading],
          ),
        ]
      : heading),
  ]);
}

function drawRow(
  box: Box,
  row: BoxRow,
  inner: number,
  lanes: readonly Lane[],
  mark: string | undefined,
): SvgElement {
  const { left } = sides(box, inner);
  const names = row.targets.map(({ path }) => ` t-${row.from}--${path}`).join('');
  return element('g', { class: `transition${names}${mark ? ` ${mark}` : ''}` }, [
    element('title', {}, [row.hint]),
    ...row.lines.map((line, at) => {
      const indent = line.length - line.trimStart().length;
      const x = left + size.inset + indent * character;
      return label(line.trimStart(), x, row.y + 4 + at * size.line);
    }),
    ...lanes
      .filter(({ to }) => row.targets.some((target) => target.box === to))
      .flatMap(({ to, at }) => drawArrow(box, row, to, inner + (at + 1) * size.lane, inner)),
  ]);
}

function drawArrow(
  from: Box,
  row: BoxRow,
  to: Box,
  x: number,
  inner: number,
): readonly SvgElement[] {
  const [start, end] = [sides(from, inner).right, sides(to, inner).right];
  const y = to.top + size.header / 2;
  return [
    element('path', {
      d: `M${start},${row.y}H${x}V${y}H${end + 7}`,
      fill: 'none',
      stroke: 'currentColor',
    }),
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

const entities: { readonly [character: string]: string } = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
};

function escapeXml(value: string | number): string {
  return String(value).replaceAll(/[&<>"]/g, (each) => entities[each] ?? each);
}
