/** The docs' screenshots, and a record of the built page and charts they were taken from. */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { charts } from '../../../../src/charts.ts';
import { machineDefinition } from '../../src/charts/machine-definition.ts';

const images = new URL('../../../../docs/images/', import.meta.url);
const recordFile = new URL('screenshots.json', images);

/** Names of the page's pictures in the docs. */
export const screenshots = readdirSync(images)
  .filter((file) => /^inspect-.+\.png$/.test(file))
  .map((file) => file.replace(/\.png$/, ''))
  .sort();

export interface ScreenshotRecord {
  /** Names of the charts shown. */
  readonly charts: readonly string[];
  /** Digest of the built page: its scripts without comments, and its style. */
  readonly page: string;
  /** Digest of the charts' states and events. */
  readonly definitions: string;
}

/** The record that a new screenshot of these charts would get. */
export function recordOf(shown: readonly string[]): ScreenshotRecord {
  const definitions = shown.map((name) => machineDefinition(charts[name as keyof typeof charts]));
  return { charts: shown, page: pageDigest(), definitions: digestOf(JSON.stringify(definitions)) };
}

/** Stored records by screenshot. */
export function recorded(): { readonly [name: string]: ScreenshotRecord } {
  return existsSync(recordFile)
    ? (JSON.parse(readFileSync(recordFile, 'utf8')) as { [name: string]: ScreenshotRecord })
    : {};
}

/** Stores the record of a new screenshot. */
export function keepRecord(name: string, shown: readonly string[]): void {
  const all = { ...recorded(), [name]: recordOf(shown) };
  const sorted = Object.fromEntries(Object.entries(all).sort(([a], [b]) => (a < b ? -1 : 1)));
  writeFileSync(recordFile, `${JSON.stringify(sorted, undefined, 2)}\n`);
}

function pageDigest(): string {
  const built = new URL('../../dist/', import.meta.url);
  const scripts = readdirSync(new URL('page/', built)).filter((file) => file.endsWith('.js'));
  const files = [...scripts.sort().map((file) => `page/${file}`), 'page-assets.js'];
  return digestOf(
    files.map((file) => readFileSync(fileURLToPath(new URL(file, built)), 'utf8')).join('\0'),
  );
}

const digestOf = (text: string): string => createHash('sha256').update(text).digest('hex');
