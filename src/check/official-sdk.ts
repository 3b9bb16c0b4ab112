/** What is a fault of an official SDK, and none of the server that is made with it. */
import { isJsonObject } from '../protocol/classify.ts';
import type { InvariantFinding } from './check-report.ts';
import type { Trace } from './trace.ts';

/** What servers do with the official TypeScript SDK below them, whoever has written them. */
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

/** Which of the findings are the SDK's, in one sentence; undefined if none are. */
export function noteOnSdk(
  sdk: string | undefined,
  findings: readonly InvariantFinding[],
): string | undefined {
  const broken = findings.filter(({ id, outcome }) => outcome === 'broken' && sdkFaults.has(id));
  if (sdk === undefined || broken.length === 0) return undefined;
  const ids = broken.map(({ id }) => id).join(', ');
  return `The server is made with ${sdk}, and these are faults of that: ${ids}`;
}
