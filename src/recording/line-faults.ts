/** What can be wrong with a line of a recording. What passes here can be given to a session. */
import { describe, isJsonObject } from '../protocol/classify.ts';
import type { InboundFrame } from '../protocol/frames.ts';
import { recordingVersion } from './format.ts';

/** What is wrong with a header; undefined if nothing is. */
export function faultOfHeader(header: { readonly [member: string]: unknown }): string | undefined {
  const { recording, server, limits, methods, prepared, taskTools, at, startedAt } = header;
  if (!Number.isSafeInteger(recording)) {
    return `"recording" is the format's version, a whole number; this is ${describe(recording)}`;
  }
  if ((recording as number) > recordingVersion) {
    return `this recording has version ${String(recording)} of the format, and this mcp-actors reads versions up to ${recordingVersion}: use a newer one`;
  }
  const isWhole =
    isJsonObject(server) &&
    isJsonObject(server['serverInfo']) &&
    isJsonObject(server['capabilities']) &&
    isJsonObject(limits) &&
    // JSON has no infinity: it is null.
    Object.values(limits).every((limit) => limit === null || typeof limit === 'number') &&
    isJsonObject(taskTools) &&
    isTexts(methods) &&
    isTexts(prepared) &&
    isTime(at) &&
    typeof startedAt === 'string' &&
    !Number.isNaN(Date.parse(startedAt));
  return isWhole ? undefined : 'the header of the recording is not whole';
}

function isTexts(value: unknown): boolean {
  return Array.isArray(value) && value.every((item) => typeof item === 'string');
}

/** Some 30,000 years: a time of day that is so far from another is one still. */
const longestTimeMs = 1e15;

function isTime(value: unknown): boolean {
  return typeof value === 'number' && Math.abs(value) <= longestTimeMs;
}

const frameChecks: {
  readonly [TKind in InboundFrame['kind']]: (frame: {
    readonly [member: string]: unknown;
  }) => boolean;
} = {
  request: ({ id, method }) =>
    (typeof id === 'string' || typeof id === 'number') && typeof method === 'string',
  notification: ({ method }) => typeof method === 'string',
  response: ({ outcome }) => isJsonObject(outcome),
  invalid: ({ error }) => isJsonObject(error),
  'stray-error': ({ error }) => isJsonObject(error),
  batch: ({ messages }) => Array.isArray(messages),
};

function isFrames(value: unknown): boolean {
  return Array.isArray(value) && value.every(isFrame);
}

function isFrame(value: unknown): boolean {
  if (!isJsonObject(value)) return false;
  const { kind } = value;
  if (typeof kind !== 'string' || !Object.hasOwn(frameChecks, kind)) return false;
  return frameChecks[kind as InboundFrame['kind']](value);
}

/** What each member that tells a kind must be. */
const memberChecks: { readonly [kind: string]: readonly [(value: unknown) => boolean, string] } = {
  client: [Array.isArray, 'an array of messages'],
  frames: [isFrames, 'an array of frames as a reader classifies them'],
  write: [Array.isArray, 'an array of frames'],
  end: [(value) => value === true, 'true'],
  ...Object.fromEntries(
    ['timer', 'ping', 'resolved', 'call', 'started', 'told', 'resolve'].map((kind) => [
      kind,
      [Number.isSafeInteger, 'a whole number'],
    ]),
  ),
  ...Object.fromEntries(
    [
      'raw',
      'random',
      'output',
      'shutdown',
      'notify',
      'loaded',
      'load',
      'machine',
      'closed',
      'about',
      'stopped',
    ].map((kind) => [kind, [(value: unknown) => typeof value === 'string', 'a string']]),
  ),
};

/** What is wrong with a line of a kind; undefined if nothing is. */
export function faultOf(
  line: { readonly [member: string]: unknown },
  kind: string,
): string | undefined {
  const check = memberChecks[kind];
  if (check && !check[0](line[kind])) {
    return `"${kind}" must be ${check[1]}, this is ${describe(line[kind])}`;
  }
  const { at, rounds } = line;
  if (at !== undefined && !isTime(at)) {
    return `"at" must be a number of milliseconds, this is ${describe(at)}`;
  }
  if (rounds !== undefined && !Number.isSafeInteger(rounds)) {
    return `"rounds" must be a whole number, this is ${describe(rounds)}`;
  }
  return undefined;
}
