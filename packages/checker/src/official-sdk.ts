/** Attributes findings to an official SDK rather than to servers built with it. */
import { isJsonObject } from 'mcp-actors/internal';
import type { InvariantFinding } from './check-report.ts';
import type { Trace } from './trace.ts';

/** Invariants that every server built with the official TypeScript SDK breaks. */
const sdkFaults: ReadonlySet<string> = new Set([
  'batch',
  'early-request',
  'invalid-cursor',
  'invalid-log-level',
  'invalid-request',
  'parse-error',
  'resource-not-found',
]);

const first = '@modelcontextprotocol/sdk';
const second = '@modelcontextprotocol/server';

/**
 * Detects the official SDK from a trace. SDK 1 prefixes error messages with their code. Both
 * versions write `result` first in a response and reject an unknown method with these words; only
 * version 2 supports server/discover.
 */
export function officialSdkIn(trace: Trace): string | undefined {
  const messages = trace.responses.flatMap(({ message: { error } }) =>
    isJsonObject(error) ? [String(error['message'])] : [],
  );
  const named = (name: string) => `the official TypeScript SDK (${name})`;
  if (messages.some((text) => /^MCP error -32\d{3}: /.test(text))) return named(first);
  const writesResultFirst = trace.happenings.some(
    (one) => one.kind === 'received' && one.text.startsWith('{"result":'),
  );
  if (!writesResultFirst || !messages.includes('Method not found')) return undefined;
  return named(trace.discovered ? second : `${first} or ${second}`);
}

/** Lists findings caused by the SDK in one sentence; undefined if there are none. */
export function noteOnSdk(
  sdk: string | undefined,
  findings: readonly InvariantFinding[],
): string | undefined {
  const broken = findings.filter(({ id, outcome }) => outcome === 'broken' && sdkFaults.has(id));
  if (sdk === undefined || broken.length === 0) return undefined;
  const ids = broken.map(({ id }) => id).join(', ');
  return `The server is built with ${sdk}, which causes these findings: ${ids}`;
}
