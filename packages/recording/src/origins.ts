/**
 * Origins of separately answered requests, as over HTTP: their recorded form and its replay. Neither contains
 * credentials.
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

/** Session ids are as sensitive as passwords. */
const sessionHeader = 'mcp-session-id';
const sessionInQuery = /([?&]session_?id=)[^&#]*/gi;

/** Converts the input of one session to lines with origins. */
export class OriginRecorder {
  readonly #numbers = new WeakMap<RequestOrigin, number>();
  #count = 0;

  /** Line of an input chunk, whose messages share one origin. */
  chunk(frames: readonly InboundFrame[]): ClientLine | FramesLine {
    const origin = frames.map(originOf).find((each) => each !== undefined);
    if (!origin) return chunkLine(frames);
    return { ...chunkLine(frames.map(withoutOrigin)), origin: this.#recorded(origin) };
  }

  /** Line of a request whose answer is no longer awaited. */
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

/** Restores the origins of a recording for its replay. */
export class ReplayedOrigins {
  readonly #origins = new Map<number, RequestOrigin>();

  /** Restores a client's messages with their origins. */
  framesOf(line: ClientLine | FramesLine): readonly InboundFrame[] {
    const frames = 'client' in line ? line.client.map(recordedFrame) : line.frames;
    if (!line.origin) return frames;
    const origin = replayedOrigin(line.origin);
    this.#origins.set(line.origin.number, origin);
    return frames.map((frame) => (mayHaveOrigin(frame) ? { ...frame, origin } : frame));
  }

  /** The request whose client has disconnected. */
  requestOf({ gone, id }: GoneLine): RelatedRequest {
    return { id: id as InboundRequestId, origin: this.#origins.get(gone) };
  }
}

function originOf(frame: InboundFrame): RequestOrigin | undefined {
  return 'origin' in frame ? frame.origin : undefined;
}

/** Origin for messages without an answer. */
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
    // A replay has no HTTP connection.
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
