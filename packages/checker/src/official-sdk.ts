/** Separates faults of an official SDK from faults of the servers that are made with it. */
import { isJsonObject } from 'mcp-actors/internal';
import type { InvariantFinding } from './check-report.ts';
import type { Trace } from './trace.ts';

/** The faults of every server that is made with the official TypeScript SDK. */
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
 * Names the official SDK that a trace shows. The first of the TypeScript ones begins the messages of
 * its errors with their code. Both write the result of a response before its other members, and
 * refuse an unknown method in these words; of them, the second alone serves discovery.
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

/** Names the findings that are faults of the SDK, in one sentence; undefined if there are none. */
export function noteOnSdk(
  sdk: string | undefined,
  findings: readonly InvariantFinding[],
): string | undefined {
  const broken = findings.filter(({ id, outcome }) => outcome === 'broken' && sdkFaults.has(id));
  if (sdk === undefined || broken.length === 0) return undefined;
  const ids = broken.map(({ id }) => id).join(', ');
  return `The server is made with ${sdk}, and these are faults of that: ${ids}`;
}
