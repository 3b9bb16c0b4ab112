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

/** Names the official SDK that a trace shows. The TypeScript one begins the messages of its errors with their code. */
export function officialSdkIn(trace: Trace): string | undefined {
  const isItsOwn = trace.responses.some(({ message: { error } }) => {
    return isJsonObject(error) && /^MCP error -32\d{3}: /.test(String(error['message']));
  });
  return isItsOwn ? 'the official TypeScript SDK (@modelcontextprotocol/sdk)' : undefined;
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
