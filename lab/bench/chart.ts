/**
 * Renders results as SVG: for each selected metric a bar per server with its ratio to the floor on
 * a logarithmic scale.
 */
import type { Cell, Results, Row } from './results.ts';

const colours: Readonly<Record<string, string>> = {
  floor: '#9ca3af',
  'mcp-actors': '#2563eb',
  'mcp-lite': '#059669',
  tmcp: '#d97706',
  'sdk-1': '#dc2626',
  'sdk-2': '#9333ea',
  hono: '#0891b2',
  fastmcp: '#be185d',
  supergateway: '#059669',
  'mcp-remote': '#d97706',
  'mcp-proxy': '#9333ea',
};

const bar = 12;
const groupGap = 30;
const left = 20;
const nameWidth = 90;
const scaleWidth = 560;
const width = left + nameWidth + scaleWidth + 90;
const top = 56;

/** Self-contained chart of the metrics with these keys. */
export function chartOf(
  { rows, circumstances: { date, node } }: Results,
  shown: readonly string[],
): string {
  const groups = shown.flatMap((key) => rows.filter((row) => row.key === key));
  const ratios = groups.flatMap(({ cells }) => cells.flatMap(({ toFloor }) => toFloor ?? []));
  const most = Math.max(10, ...ratios);
  const parts: string[] = [];
  let y = top;
  for (const group of groups) {
    parts.push(groupOf(group, y, most));
    y += group.cells.length * bar + groupGap;
  }
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${y}" font-family="system-ui, sans-serif" font-size="10">
<title>Cost of each server as a multiple of the floor's</title>
<rect width="${width}" height="${y}" fill="#ffffff"/>
<text x="${left}" y="24" font-size="15" font-weight="600">Cost as a multiple of the floor's (logarithmic; shorter is better)</text>
<text x="${left}" y="40" fill="#6b7280">${escape(`${date}, Node ${node}; medians of interleaved runs`)}</text>
${gridOf(most, y)}
${parts.join('\n')}
</svg>
`;
}

function xOf(ratio: number, most: number): number {
  // Ratios below 1 are shown as the shortest bar.
  const share = Math.log10(Math.max(ratio, 1)) / Math.log10(most);
  return left + nameWidth + 3 + share * (scaleWidth - 3);
}

function gridOf(most: number, bottom: number): string {
  return [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000]
    .filter((ratio) => ratio <= most)
    .map((ratio) => {
      const x = xOf(ratio, most).toFixed(1);
      return `<line x1="${x}" x2="${x}" y1="${top - 6}" y2="${bottom - 12}" stroke="#e5e7eb"/><text x="${x}" y="${bottom - 2}" text-anchor="middle" fill="#6b7280">${ratio}×</text>`;
    })
    .join('\n');
}

function groupOf({ title, cells }: Row, y: number, most: number): string {
  const bars = cells.map((cell, at) => barOf(cell, y + 6 + at * bar, most));
  return `<text x="${left}" y="${y}" font-size="11" font-weight="600">${escape(title)}</text>\n${bars.join('\n')}`;
}

function barOf({ server, toFloor, failure }: Cell, y: number, most: number): string {
  const start = left + nameWidth;
  const name = `<text x="${start - 6}" y="${y + 9}" text-anchor="end">${escape(server)}</text>`;
  if (toFloor === undefined) {
    const word = failure === undefined ? 'not measured' : 'fails';
    return `${name}<text x="${start + 4}" y="${y + 9}" fill="#dc2626">${word}</text>`;
  }
  const end = xOf(toFloor, most);
  const colour = colours[server] ?? '#6b7280';
  return `${name}<rect x="${start}" y="${y + 1}" width="${(end - start).toFixed(1)}" height="${bar - 2}" fill="${colour}"/><text x="${(end + 4).toFixed(1)}" y="${y + 9}">${toFloor.toFixed(2)}</text>`;
}

function escape(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}
