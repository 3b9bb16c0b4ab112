/** The kind of channel that reaches a server over HTTP. */
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

/** The options of a connection over HTTP. */
export interface HttpChannelKindOptions {
  /**
   * Makes the authorization of one connection, which obtains, stores and renews its login. Without
   * it, a request that needs a login fails with `UNAUTHORIZED`.
   */
  readonly authorization?: MakeAuthorization | undefined;
  /** Allows `http:` beyond loopback: anyone on the network path can read and change everything. */
  readonly allowInsecure?: boolean | undefined;
  /** How a cut stream is resumed. */
  readonly streamRetry?: { readonly [K in keyof RestartTimes]?: number | undefined } | undefined;
  /** Requests that are open at once; more wait. Each has a connection of its own. */
  readonly maxOpenRequests?: number | undefined;
  /** Replaces the platform's `fetch`, for example to use a proxy or certificates. */
  readonly fetch?: typeof fetch | undefined;
  /**
   * Sends requests without `fetch`, at a quarter of its CPU time: a dispatcher of the package
   * `undici`, such as `new Agent()`. Cannot be combined with `fetch`.
   */
  readonly dispatcher?: HttpDispatcher | undefined;
}

/** The number of open files that a process may have on every system. */
const defaultOpenRequests = 256;

/**
 * The kind of channel to a server over HTTP.
 *
 * @throws {RuntimeError} CONFIG_INVALID: the entry is wrong
 * @throws {RangeError} an option is wrong
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
      `maxOpenRequests must be a whole number from 1 on, this is ${maxOpenRequests}`,
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

/** @throws {RangeError} both `fetch` and `dispatcher` are given */
function sendBy({ fetch: own, dispatcher }: HttpChannelKindOptions): SendRequest {
  if (own && dispatcher) {
    throw new RangeError('Requests are sent by "fetch" or by "dispatcher": give one of them');
  }
  if (dispatcher) return sendingByDispatcher(dispatcher);
  return sendingBy(own);
}
