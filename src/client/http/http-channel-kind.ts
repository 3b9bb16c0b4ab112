/** Servers that are reached over HTTP, as a way that a connection can take. */
import { plainActor } from '../../machines/port.ts';
import { streamResumption } from '../../machines/http-stream.machine.ts';
import { httpRestart, restartPolicyWith } from '../../machines/restart-policy.ts';
import type { RestartTimes } from '../../machines/restart-policy.ts';
import type { ChannelKind } from '../channel/channel-kind.ts';
import { addressOf } from './address.ts';
import type { HttpEntry } from './address.ts';
import { LoginWatch } from './authorization.ts';
import type { MakeAuthorization } from './authorization.ts';
import { sendByPlatform } from './dispatched.ts';
import { HttpChannel } from './http-channel.ts';
import { sendingBy } from './response.ts';
import { ToolParameters } from './tool-parameters.ts';

/** The options of a connection over HTTP. */
export interface HttpChannelKindOptions {
  /**
   * Makes what gets, keeps and renews the login of one connection. Without it, what wants one fails
   * with `UNAUTHORIZED`.
   */
  readonly authorization?: MakeAuthorization | undefined;
  /** Allows `http:` beyond loopback: whoever is on the way reads and changes everything. */
  readonly allowInsecure?: boolean | undefined;
  /** How a stream that was cut is resumed. */
  readonly streamRetry?: { readonly [K in keyof RestartTimes]?: number | undefined } | undefined;
  /** Requests that are open at once; more wait. Each has a connection of its own. */
  readonly maxOpenRequests?: number | undefined;
  /** Sends requests in the place of the platform's `fetch`: through a proxy, with certificates. */
  readonly fetch?: typeof fetch | undefined;
}

/** As many open files as a process has everywhere. */
const defaultOpenRequests = 256;

/**
 * The way to a server over HTTP.
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
        authorization: authorization?.(authorize, observed),
        logins: new LoginWatch(),
        send: options.fetch ? sendingBy(options.fetch) : sendByPlatform,
      };
      return plainActor(({ input }) => new HttpChannel(address, channelOptions, input.connection));
    },
  };
}
