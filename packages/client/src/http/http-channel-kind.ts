/** Channel kind of servers over HTTP. */
import { streamResumption } from './http-stream.machine.ts';
import { httpRestart, restartPolicyWith } from '../channel/restart-option.ts';
import type { RestartTimes } from '../channel/restart-policy.ts';
import type { ChannelKind } from '../channel/channel-kind.ts';
import { addressOf } from './address.ts';
import type { HttpEntry } from './address.ts';
import { LoginWatch } from './authorization.ts';
import type { MakeAuthorization } from './authorization.ts';
import { sendingByDispatcher } from './dispatched.ts';
import type { HttpDispatcher } from './dispatched.ts';
import { httpChannelActor } from './http-channel.actor.ts';
import { sendingBy } from './response.ts';
import type { SendRequest } from './response.ts';
import { ToolParameters } from './tool-headers.ts';

/** Options of a connection over HTTP. */
export interface HttpChannelKindOptions {
  /**
   * Creates the authorization of one connection, which obtains, stores and refreshes its login.
   * Without it, a request that requires a login fails with `UNAUTHORIZED`.
   */
  readonly authorization?: MakeAuthorization | undefined;
  /** Allows `http:` beyond loopback: anyone on the network path can read and change everything. */
  readonly allowInsecure?: boolean | undefined;
  /** Backoff for resuming a cut stream. */
  readonly streamRetry?: { readonly [K in keyof RestartTimes]?: number | undefined } | undefined;
  /** Maximum concurrent requests; further ones are queued. Each uses a connection of its own. */
  readonly maxOpenRequests?: number | undefined;
  /** Replacement of the platform's `fetch`, for example for a proxy or certificates. */
  readonly fetch?: typeof fetch | undefined;
  /**
   * Sends requests without `fetch`, at a quarter of its CPU time: a dispatcher of the package
   * `undici`, such as `new Agent()`. Excludes `fetch`.
   */
  readonly dispatcher?: HttpDispatcher | undefined;
}

/** Open file limit that every system allows per process. */
const defaultOpenRequests = 256;

/**
 * Channel kind for a server over HTTP.
 *
 * @throws {RuntimeError} CONFIG_INVALID: the entry is invalid
 * @throws {RangeError} an option is out of range
 */
export function httpChannelKind(
  entry: HttpEntry,
  options: HttpChannelKindOptions = {},
): ChannelKind {
  const {
    authorization,
    allowInsecure,
    streamRetry,
    maxOpenRequests = defaultOpenRequests,
  } = options;
  const send = sendBy(options);
  const address = addressOf(entry, allowInsecure);
  const times = restartPolicyWith(streamRetry, streamResumption, 'streamRetry') as RestartTimes;
  if (!Number.isInteger(maxOpenRequests) || maxOpenRequests < 1) {
    throw new RangeError(
      `maxOpenRequests must be a whole number of at least 1, got ${maxOpenRequests}`,
    );
  }
  return {
    name: address.url.host,
    shows: 'answer',
    restart: httpRestart,
    eraKey: address.url.origin,
    logic: ({ limits, report, clock, observed, authorize }) => {
      const tools = new ToolParameters(report);
      const channelOptions = {
        limits: { ...limits, maxOpenRequests },
        ...{ report, clock, observed, times, tools },
        authorization: authorization?.({ asked: authorize, observed, clock }),
        logins: new LoginWatch(),
        send,
      };
      return httpChannelActor(address, channelOptions);
    },
  };
}

/** @throws {RangeError} both `fetch` and `dispatcher` are set */
function sendBy({ fetch: own, dispatcher }: HttpChannelKindOptions): SendRequest {
  if (own && dispatcher) {
    throw new RangeError('"fetch" and "dispatcher" are mutually exclusive: set one of them');
  }
  if (dispatcher) return sendingByDispatcher(dispatcher);
  return sendingBy(own);
}
