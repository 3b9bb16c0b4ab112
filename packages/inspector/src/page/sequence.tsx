/** Sequence diagram of the conversation, on the page and as a downloaded file. */
import { render } from 'preact';
import { useMemo, useRef } from 'preact/hooks';
import { timeOfDay } from './durations.ts';
import type { Row, ShownSession } from './model.ts';
import { isFault, peerLine, accessibleLabel } from './rows.ts';
import { labelBox, sequenceLayout } from './sequence-layout.ts';
import type { SequenceItem, SequenceLayout } from './sequence-layout.ts';
import { useWidth } from './view.ts';

const headHeight = 30;
/** Width of the saved file, pixels. */
const savedWidth = 960;
/** Minimum width of the diagram, pixels. */
const minWidth = 300;

interface SequenceProps {
  readonly rows: readonly Row[];
  readonly session: ShownSession;
  /** Number of the selected event. */
  readonly chosen: number | undefined;
}

/** Renders arrows and states as options of the surrounding list box. */
export function Sequence({ rows, session, chosen }: SequenceProps) {
  const box = useRef<HTMLDivElement>(null);
  const width = Math.max(minWidth, useWidth(box));
  const layout = useMemo(() => layoutOf(rows, session, width), [rows, session.rows, width]);
  return (
    <div ref={box} role="none">
      <svg class="sequence heads" role="presentation" width={width} height={headHeight}>
        <Heads layout={layout} />
      </svg>
      <svg class="sequence" role="presentation" width={width} height={layout.height}>
        <Body layout={layout} chosen={chosen} peer={peerLine(session.dump)} />
      </svg>
    </div>
  );
}

/** Downloads the diagram as an SVG file with the page's colours for light and dark mode. */
export function saveSequence(rows: readonly Row[], session: ShownSession): void {
  const layout = layoutOf(rows, session, savedWidth);
  const height = layout.height + headHeight;
  const holder = document.createElement('div');
  render(
    <svg
      class="sequence"
      viewBox={`0 0 ${savedWidth} ${height}`}
      width={savedWidth}
      height={height}
    >
      <rect class="back" width={savedWidth} height={height} />
      <Heads layout={layout} />
      <g transform={`translate(0 ${headHeight})`}>
        <Body layout={layout} chosen={undefined} peer={peerLine(session.dump)} />
      </g>
    </svg>,
    holder,
  );
  const picture = holder.querySelector('svg');
  if (!picture) return;
  const text = new XMLSerializer().serializeToString(picture);
  const style = new Text(sequenceStyle());
  const escaped = new XMLSerializer().serializeToString(style);
  const file = text.replace('>', `><style>${escaped}</style>`);
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([file], { type: 'image/svg+xml' }));
  const time = timeOfDay(rows[0]?.at ?? Date.now())
    .slice(0, 8)
    .replaceAll(':', '');
  link.download = `mcp-session-${time}.svg`;
  link.click();
  URL.revokeObjectURL(link.href);
}

/** Rules of the page's style sheet that a diagram needs. */
function sequenceStyle(): string {
  const rules = [...document.styleSheets].flatMap(({ cssRules }) => [...cssRules]);
  return rules
    .map(({ cssText }) => cssText)
    .filter((text) => /^(?:@media[^{]*\{\s*)?(?::root|\.sequence)/.test(text))
    .join('\n');
}

function layoutOf(rows: readonly Row[], session: ShownSession, width: number): SequenceLayout {
  const answered = session.rows.flatMap((row) =>
    row.kind === 'frame' && row.answers !== undefined ? [row.answers] : [],
  );
  return sequenceLayout(rows, new Set(answered), width, session.dump.side);
}

function Heads({ layout: { lanes } }: { readonly layout: SequenceLayout }) {
  return (
    <g>
      {lanes.map(({ name, x }) => (
        <g key={name}>
          <rect class="head" x={x - 34} y={4} width={68} height={22} rx={5} />
          <text class="head" x={x} y={19} text-anchor="middle">
            {name}
          </text>
        </g>
      ))}
    </g>
  );
}

interface BodyProps {
  readonly layout: SequenceLayout;
  readonly chosen: number | undefined;
  readonly peer: 'client' | 'server';
}

function Body({ layout: { lanes, height, spans, times, items }, chosen, peer }: BodyProps) {
  return (
    <g>
      {lanes.map(({ name, x }) => (
        <line key={name} class="lane" x1={x} x2={x} y1={0} y2={height} />
      ))}
      {spans.map(({ seq, x, top, bottom, isOpen }) => (
        <rect
          key={seq}
          class={isOpen ? 'span open' : 'span'}
          x={x}
          y={top}
          width={7}
          height={Math.max(4, bottom - top)}
        />
      ))}
      {times.map(({ y, text, seq }) => (
        <text key={seq} class="time" x={4} y={y}>
          {text}
        </text>
      ))}
      {items.map((item) =>
        item.kind === 'counted' ? (
          <text key={item.key} class="counted" x={item.labelX} y={item.y - 6}>
            {item.label}
          </text>
        ) : (
          <Item
            key={item.event.seq}
            item={item}
            isChosen={item.event.seq === chosen}
            words={accessibleLabel(item.event, peer)}
          />
        ),
      )}
    </g>
  );
}

function Item(props: {
  readonly item: Exclude<SequenceItem, { readonly kind: 'counted' }>;
  readonly isChosen: boolean;
  /** Accessible label. */
  readonly words: string;
}) {
  const { item, isChosen, words } = props;
  const { event, y, label, labelX } = item;
  const kind = event.kind === 'transition' ? 'state' : `${event.direction} ${event.what}`;
  return (
    <g
      id={`row-${event.seq}`}
      class={`item ${kind}${isFault(event) ? ' fault' : ''}`}
      data-seq={event.seq}
      role="option"
      aria-selected={isChosen}
      aria-label={`${timeOfDay(event.at)} ${words}`}
    >
      <title>{words}</title>
      <rect class="hit" x={0} y={y - 22} width="100%" height={29} />
      {item.kind === 'arrow' ? (
        <Arrow fromX={item.fromX} toX={item.toX} y={y} />
      ) : (
        <rect class="state" x={labelX - 8} y={y - 18} width={item.width} height={21} rx={10} />
      )}
      {item.kind === 'arrow' && <rect class="label" {...labelBox(item)} />}
      <text x={labelX} y={item.kind === 'arrow' ? y - 5 : y - 3}>
        {label}
      </text>
    </g>
  );
}

function Arrow({
  fromX,
  toX,
  y,
}: {
  readonly fromX: number;
  readonly toX: number;
  readonly y: number;
}) {
  const way = Math.sign(toX - fromX);
  const tip = toX - way * 4;
  const back = tip - way * 8;
  return (
    <g>
      <line class="arrow" x1={fromX + way * 4} x2={back} y1={y} y2={y} />
      <polygon class="tip" points={`${tip},${y} ${back},${y - 4} ${back},${y + 4}`} />
    </g>
  );
}
