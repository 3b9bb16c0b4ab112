/** What passes a bridge, by the eras of its two sides: the table of docs/bridge.md, which cells.test.ts tries cell by cell. */
import type { Era } from './hosts.ts';

/** `works`, with what there is to know of it; or the capability by whose name it is refused. */
export type Cell =
  | { readonly works: true; readonly but?: string }
  | { readonly works: false; readonly refusedBy: string };

export interface Pair {
  readonly host: Era;
  readonly server: Era;
}

export const pairs: readonly Pair[] = [
  { host: 'legacy', server: 'legacy' },
  { host: 'legacy', server: 'modern' },
  { host: 'modern', server: 'legacy' },
  { host: 'modern', server: 'modern' },
];

const works: Cell = { works: true };
const but = (what: string): Cell => ({ works: true, but: what });
const refusedBy = (capability: string): Cell => ({ works: false, refusedBy: capability });

/** The cells of each feature, in the order of {@link pairs}. */
export const features = {
  'form elicitation': [works, works, works, works],
  'URL elicitation, with its completion': [
    works,
    but('the bridge names it, and tells that it is completed when the call is'),
    but('the host is not told of the completion: its revision has no message for it'),
    but('the host is not told of the completion: its revision has no message for it'),
  ],
  sampling: [works, works, works, works],
  'sampling with tools': [works, works, works, works],
  roots: [works, works, works, works],
  'roots changed': [
    works,
    but('the server is not told, and asks with each call'),
    but('the server is not told: the host has no message for it, and the server may ask again'),
    but('the server is not told, and asks with each call'),
  ],
  'log level': [works, works, works, works],
  progress: [works, works, works, works],
  cancellation: [
    but('both ways'),
    but('of calls; a server of its revision cannot withdraw a question'),
    but('of calls; a question in a result cannot be withdrawn'),
    but('of calls; a server of its revision cannot withdraw a question'),
  ],
  tasks: [works, refusedBy('tasks'), refusedBy('io.modelcontextprotocol/tasks'), works],
  'subscriptions and changes of lists': [works, works, works, works],
  completion: [works, works, works, works],
} as const satisfies { readonly [feature: string]: readonly [Cell, Cell, Cell, Cell] };

export type Feature = keyof typeof features;

const revisions: { readonly [era in Era]: string } = {
  legacy: 'up to 2025-11-25',
  modern: '2026-07-28',
};

/** The table for people. */
export function cellsTable(): string {
  const heads = pairs.map(
    ({ host, server }) => `host ${revisions[host]}, server ${revisions[server]}`,
  );
  const rows = Object.entries(features).map(([feature, cells]) => {
    const texts = cells.map((cell: Cell) => {
      if (!cell.works) return `refused: \`${cell.refusedBy}\``;
      return cell.but === undefined ? 'yes' : `yes; ${cell.but}`;
    });
    return `| ${[feature, ...texts].join(' | ')} |`;
  });
  return [`| | ${heads.join(' | ')} |`, '|---|---|---|---|---|', ...rows].join('\n');
}
