/** Animated SVG of the demo, whose lines appear at the times the demo printed them. */
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';

export interface TimedLine {
  readonly text: string;
  /** Time since the start, ms. */
  readonly atMs: number;
}

const [lineHeight, characterWidth, padding] = [19, 7.9, 16];
/** Pause before the animation restarts, ms. */
const restMs = 6000;

/** Reads the lines of a stream with their arrival times. */
export async function timedLines(output: Readable): Promise<readonly TimedLine[]> {
  const start = performance.now();
  const lines: TimedLine[] = [];
  for await (const text of createInterface({ input: output })) {
    lines.push({ text, atMs: performance.now() - start });
  }
  return lines;
}

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

const colourOf = (text: string): string => {
  if (/kill -9/.test(text)) return '#ff7b72';
  if (/^\d/.test(text)) return '#ffffff';
  if (/^ +client/.test(text)) return '#79c0ff';
  if (/^ +server/.test(text)) return '#7ee787';
  return '#c9d1d9';
};

/** Draws the lines. With reduced motion, all are visible from the start. */
export function pictureOf(lines: readonly TimedLine[]): string {
  const shown = lines.filter(({ text }, at) => text !== '' || at > 0);
  const totalMs = (shown.at(-1)?.atMs ?? 0) + restMs;
  const columns = Math.max(...shown.map(({ text }) => text.length));
  const width = Math.ceil(columns * characterWidth + 2 * padding);
  const height = shown.length * lineHeight + 2 * padding;
  const rules = shown.map(({ atMs }, at) => {
    const percent = ((100 * atMs) / totalMs).toFixed(2);
    return `@keyframes l${at}{0%{opacity:0}${percent}%{opacity:0}${percent}%,100%{opacity:1}}#l${at}{animation:l${at} ${(totalMs / 1000).toFixed(1)}s step-end infinite}`;
  });
  const texts = shown.map(
    ({ text }, at) =>
      `<text id="l${at}" x="${padding}" y="${padding + (at + 0.75) * lineHeight}" fill="${colourOf(text)}" xml:space="preserve">${escaped(text)}</text>`,
  );
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">
<title>kill -9 ends the server three times; the call goes on, and the ledger has each row once</title>
<style>
text{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
@media not (prefers-reduced-motion:reduce){
${rules.join('\n')}
}
</style>
<rect width="100%" height="100%" rx="8" fill="#0d1117"/>
${texts.join('\n')}
</svg>
`;
}

/** Lines of a picture without parts that differ between runs. */
export function comparableLines(text: string): readonly string[] {
  const lines = text.includes('<svg')
    ? [...text.matchAll(/<text [^>]*>([^<]*)<\/text>/g)].map(([, line = '']) => line)
    : text.split('\n').map(escaped);
  return lines
    .map((line) => line.replaceAll(/(process|kill -9) \d+/g, '$1 PID').trimEnd())
    .filter((line) => line !== '');
}
