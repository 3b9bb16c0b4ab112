/**
 * Where requests came from that are answered each by itself, as HTTP does: what a recording keeps of
 * it, and how a replay gets it back. What authenticates a client is in neither.
 */
import type {
  InboundRequestId,
  InboundFrame,
  RelatedRequest,
} from '../../../src/protocol/frames.ts';
import type {
  RequestOrigin,
  ServedHttpCall,
  ServedHttpRequest,
} from '../../../src/protocol/request-origin.ts';
import type {
  ClientLine,
  FramesLine,
  GoneLine,
  RecordedHttpRequest,
  RecordedOrigin,
} from './format.ts';
import { chunkLine, recordedFrame } from './lines.ts';

/** A session's id is as good as a password for the session. */
const sessionHeader = 'mcp-session-id';
const sessionInQuery = /([?&]session_?id=)[^&#]*/gi;

/** What one session is sent, as lines that say where it came from. */
export class OriginRecorder {
  readonly #numbers = new WeakMap<RequestOrigin, number>();
  #count = 0;

  /** One chunk of input. All that has an origin in it has the same one. */
  chunk(frames: readonly InboundFrame[]): ClientLine | FramesLine {
    const origin = frames.map(originOf).find((each) => each !== undefined);
    if (!origin) return chunkLine(frames);
    return { ...chunkLine(frames.map(withoutOrigin)), origin: this.#recorded(origin) };
  }

  /** The answer to a request is no longer awaited. */
  gone({ id, origin }: RelatedRequest, reason: string): GoneLine {
    return { gone: origin ? this.#numberOf(origin) : 0, id, reason };
  }

  #recorded(origin: RequestOrigin): RecordedOrigin {
    const { idScope, principal, http, noRequestsReason: unaskable, revision } = origin;
    return {
      number: this.#numberOf(origin),
      idScope,
      ...(principal ? { principal } : {}),
      ...(http ? { http: recordedRequest(http) } : {}),
      ...(unaskable === undefined ? {} : { unaskable }),
      ...(revision === undefined ? {} : { revision }),
    };
  }

  #numberOf(origin: RequestOrigin): number {
    const number = this.#numbers.get(origin) ?? ++this.#count;
    this.#numbers.set(origin, number);
    return number;
  }
}

/** The origins of a recording, for its replay. */
export class ReplayedOrigins {
  readonly #origins = new Map<number, RequestOrigin>();

  /** What a client sent, as the reader hands it on. */
  framesOf(line: ClientLine | FramesLine): readonly InboundFrame[] {
    const frames = 'client' in line ? line.client.map(recordedFrame) : line.frames;
    if (!line.origin) return frames;
    const origin = replayedOrigin(line.origin);
    this.#origins.set(line.origin.number, origin);
    return frames.map((frame) => (mayHaveOrigin(frame) ? { ...frame, origin } : frame));
  }

  /** The request whose client has gone. */
  requestOf({ gone, id }: GoneLine): RelatedRequest {
    return { id: id as InboundRequestId, origin: this.#origins.get(gone) };
  }
}

function originOf(frame: InboundFrame): RequestOrigin | undefined {
  return 'origin' in frame ? frame.origin : undefined;
}

/** Responses and notifications are not answered. */
function mayHaveOrigin({ kind }: InboundFrame): boolean {
  return kind === 'request' || kind === 'batch' || kind === 'invalid';
}

function withoutOrigin(frame: InboundFrame): InboundFrame {
  return 'origin' in frame ? { ...frame, origin: undefined } : frame;
}

function recordedRequest(http: ServedHttpRequest): RecordedHttpRequest {
  const { method, target, remoteAddress } = http;
  const names = http.headerNames().filter((name) => name !== sessionHeader);
  return {
    method,
    target: target.replaceAll(sessionInQuery, '$1[redacted]'),
    ...(remoteAddress === undefined ? {} : { remoteAddress }),
    headers: Object.fromEntries(names.map((name) => [name, http.header(name) ?? ''])),
  };
}

function replayedOrigin({ number: _, http, unaskable, ...origin }: RecordedOrigin): RequestOrigin {
  return {
    ...origin,
    noRequestsReason: unaskable,
    ...(http ? { http: replayedRequest(http) } : {}),
  };
}

function replayedRequest({
  method,
  target,
  remoteAddress,
  headers,
}: RecordedHttpRequest): ServedHttpCall {
  return {
    // There is none in a replay.
    closeConnection: () => {},
    method,
    target,
    remoteAddress,
    headerNames: () => Object.keys(headers),
    header: (name) => {
      const key = name.toLowerCase();
      return Object.hasOwn(headers, key) ? headers[key] : undefined;
    },
  };
}
