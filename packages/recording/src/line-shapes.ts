/**
 * Required members and types of each kind of line. A line that passes this check can be replayed.
 */
import { inspectValue, isJsonObject } from '../../../src/protocol/classify.ts';
import type { InboundFrame, JsonObject } from '../../../src/protocol/frames.ts';
import { kindOf, recordingVersion } from './format.ts';
import type { LineKind, RecordedLine, RecordingHeader, ConnectionHeader } from './format.ts';
import { hostMethods } from '../../client/src/connection/connection-environment.ts';

/** A member type, with its name for messages. */
type MemberType = readonly [accepts: (value: unknown) => boolean, name: string];

interface Shape {
  readonly [member: string]: MemberType;
}

/** Throws a validation error. */
export type Refuse = (fault: string) => never;

/** Maximum time difference, about 30,000 years: dates within it can still be formatted. */
const longestTimeMs = 1e15;

const isText = (value: unknown) => typeof value === 'string';
const text: MemberType = [isText, 'a string'];
const texts: MemberType = [
  (value) => Array.isArray(value) && value.every(isText),
  'an array of strings',
];
const numbers: MemberType = [
  (value) => Array.isArray(value) && value.every(Number.isSafeInteger),
  'an array of whole numbers',
];
const whole: MemberType = [Number.isSafeInteger, 'a whole number'];
const time: MemberType = [
  (value) => typeof value === 'number' && Math.abs(value) <= longestTimeMs,
  'a number of milliseconds',
];
const duration: MemberType = [
  // JSON represents Infinity as null.
  (value) => typeof value === 'number' || value === null,
  'a number of milliseconds',
];
const isTrue: MemberType = [(value) => value === true, 'true'];
const boolean: MemberType = [(value) => typeof value === 'boolean', 'true or false'];
const object: MemberType = [isJsonObject, 'an object'];
const messages: MemberType = [Array.isArray, 'an array of messages'];
const id: MemberType = [
  (value) => typeof value === 'string' || typeof value === 'number',
  'a string or a number',
];
const wireError: MemberType = [
  (value) => isJsonObject(value) && typeof value['code'] === 'number' && isText(value['message']),
  'an object with "code" and "message"',
];
const roots: MemberType = [
  (value) =>
    Array.isArray(value) && value.every((root) => isJsonObject(root) && isText(root['uri'])),
  'an array of roots, each with its "uri"',
];
const origin: MemberType = [
  (value) =>
    isJsonObject(value) &&
    Number.isSafeInteger(value['number']) &&
    (value['idScope'] === 'session' || value['idScope'] === 'request') &&
    (value['http'] === undefined || isHttpRequest(value['http'])),
  'an object with "number", "idScope" and perhaps "http"',
];

function isHttpRequest(value: unknown): boolean {
  if (!isJsonObject(value) || !isText(value['method']) || !isText(value['target'])) return false;
  const { headers } = value;
  return isJsonObject(headers) && Object.values(headers).every(isText);
}

function optional([accepts, name]: MemberType): MemberType {
  return [(value) => value === undefined || accepts(value), name];
}

function oneOf(...values: readonly string[]): MemberType {
  return [
    (value) => values.some((each) => each === value),
    `one of ${values.map((each) => JSON.stringify(each)).join(', ')}`,
  ];
}

const frameShapes: {
  readonly [TKind in InboundFrame['kind']]: (frame: JsonObject) => boolean;
} = {
  request: ({ id: of, method }) => id[0](of) && isText(method),
  notification: ({ method }) => isText(method),
  response: ({ outcome }) => isJsonObject(outcome),
  invalid: ({ error }) => isJsonObject(error),
  'stray-error': ({ error }) => isJsonObject(error),
  batch: ({ messages: items }) => Array.isArray(items),
};

function isFrame(value: unknown): boolean {
  if (!isJsonObject(value)) return false;
  const { kind } = value;
  const [, isShaped] = Object.entries(frameShapes).find(([each]) => each === kind) ?? [];
  return isShaped?.(value) ?? false;
}

const timed: Shape = {
  at: optional(time),
  rounds: optional(whole),
  nested: optional(isTrue),
  within: optional(text),
};

/** Members by kind of line. Members of any type are omitted. */
const lineShapes: { readonly [kind in LineKind]: Shape } = {
  about: { about: text },
  stopped: { stopped: text },
  client: { client: messages, origin: optional(origin) },
  frames: {
    origin: optional(origin),
    frames: [
      (value) => Array.isArray(value) && value.every(isFrame),
      'an array of frames as a reader classifies them',
    ],
  },
  raw: { raw: text },
  gone: { gone: whole, id, reason: text },
  unsent: { unsent: text, id: optional(id), reason: text, code: optional(text) },
  received: { received: messages },
  returned: { returned: text, id: optional(id), reason: text, code: optional(text) },
  taken: { taken: whole },
  link: {
    link: oneOf('opened', 'lost', 'stopped', 'challenged', 'authorized', 'expired', 'relogged'),
    loss: optional([
      (value) => isJsonObject(value) && isText(value['kind']),
      'an object with its "kind"',
    ]),
  },
  host: {
    host: whole,
    calls: optional(oneOf(...hostMethods, 'watch')),
    params: optional([Array.isArray, 'an array of arguments']),
    unwritable: optional(text),
    withdrawn: optional(text),
  },
  end: { end: isTrue },
  timer: { timer: whole },
  computed: {
    computed: whole,
    for: oneOf('seal', 'open', 'digest', 'turn', 'answer'),
    thrown: optional(text),
  },
  resumption: { resumption: object, for: text },
  random: { random: text, for: oneOf('request', 'task', 'error', 'call', 'jitter') },
  output: {
    output: oneOf('blocked', 'flowing', 'flushed', 'stalled', 'broken'),
    error: optional(text),
  },
  channel: { channel: oneOf('opened', 'closed') },
  shutdown: { shutdown: text, drainTimeoutMs: optional(duration) },
  notify: { notify: text, call: optional(whole), unwritable: optional(text) },
  notice: { notice: text, uri: optional(text), except: optional(numbers) },
  write: { write: [Array.isArray, 'an array of frames'] },
  ping: { ping: whole, timeoutMs: optional(duration), withdrawn: optional(text) },
  resolved: { resolved: whole, roots: optional(roots), thrown: optional(text) },
  ask: {
    call: whole,
    ask: whole,
    method: text,
    unwritable: optional(text),
    timeoutMs: time,
    maxTotalMs: time,
    progress: optional(isTrue),
    judged: optional(isTrue),
  },
  withdrawn: { call: whole, ask: whole, withdrawn: text },
  announce: { announce: text, call: whole, unwritable: optional(text) },
  describe: { call: whole, describe: text },
  roots: { call: whole, roots: isTrue },
  checkpoint: { call: whole, checkpoint: isTrue },
  result: { call: whole },
  unwritable: { call: whole, unwritable: text },
  error: { call: whole, error: wireError },
  thrown: { call: whole, thrown: text },
  server: {},
  sent: {},
  settled: { settled: whole },
  machine: {
    machine: text,
    task: optional(whole),
    subscription: optional(whole),
    actor: optional(text),
    on: text,
    from: text,
    to: text,
  },
  started: { started: whole, id, method: text },
  told: { told: whole, call: whole },
  resolve: { resolve: whole },
  closed: { closed: text, reason: optional(text) },
};

/** Common members of both headers. */
const anyHeader: Shape = {
  package: optional(text),
  platform: optional(text),
  at: time,
  startedAt: [(value) => isText(value) && !Number.isNaN(Date.parse(String(value))), 'a date'],
  redacted: boolean,
  limits: [
    (value) => isJsonObject(value) && Object.values(value).every((limit) => duration[0](limit)),
    'an object of numbers',
  ],
  methods: texts,
  launch: optional(object),
};

const connectionHeader: Shape = {
  ...anyHeader,
  name: text,
  shows: oneOf('pipe', 'answer'),
  restart: [(value) => value === 'none' || isJsonObject(value), '"none" or an object'],
  era: object,
  wanted: optional(oneOf('legacy', 'modern')),
  clientInfo: object,
  capabilities: [
    (value) =>
      isJsonObject(value) && isJsonObject(value['legacy']) && isJsonObject(value['modern']),
    'an object with "legacy" and "modern"',
  ],
};

const headerShape: Shape = {
  ...anyHeader,
  server: [
    (value) =>
      isJsonObject(value) &&
      isJsonObject(value['serverInfo']) &&
      isJsonObject(value['capabilities']),
    'an object with "serverInfo" and "capabilities"',
  ],
  taskTools: object,
  resolvesRoots: boolean,
  resume: optional(oneOf('replay')),
};

/** Rejects a header that cannot be replayed, such as one of a newer version. */
export function assertHeader(
  value: object,
  refuse: Refuse,
): asserts value is RecordingHeader | ConnectionHeader {
  const version: unknown = Reflect.get(value, 'recording');
  if (typeof version !== 'number' || !Number.isSafeInteger(version)) {
    refuse(`"recording" is the format's version, a whole number; this is ${inspectValue(version)}`);
  } else if (version > recordingVersion) {
    refuse(
      `this recording has version ${version} of the format, and this mcp-actors reads versions up to ${recordingVersion}: use a newer one`,
    );
  }
  const isHosts = Reflect.get(value, 'side') === 'host';
  const fault = faultIn(value, isHosts ? connectionHeader : headerShape);
  if (fault !== undefined) refuse(`the header of the recording: ${fault}`);
}

/** Rejects a line that cannot be replayed. */
export function assertLine(value: object, refuse: Refuse): asserts value is RecordedLine {
  const kind = kindOf(value);
  if (kind === undefined) {
    const members = Object.keys(value).slice(0, 5).map(inspectValue).join(', ') || 'none';
    return refuse(
      `this is not a line of a recording: none of its members says what it is; they are ${members}`,
    );
  }
  const fault = faultIn(value, { ...lineShapes[kind], ...timed });
  if (fault !== undefined) refuse(fault);
}

function faultIn(value: object, shape: Shape): string | undefined {
  for (const [member, [accepts, name]] of Object.entries(shape)) {
    const item: unknown = Reflect.get(value, member);
    if (accepts(item)) continue;
    const actual = inspectValue(item);
    const isNearly = name.startsWith(`${actual} `);
    return `"${member}" must be ${name}, ${isNearly ? 'this one is not' : `this is ${actual}`}`;
  }
  return undefined;
}
