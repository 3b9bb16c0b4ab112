/** What a channel over HTTP is made with. */
import type { Clock } from '../../actors/clock.ts';
import type { Report } from '../../actors/facts.ts';
import type { ObservedScope } from '../../actors/transitions.ts';
import type { RestartTimes } from '../../machines/restart-policy.ts';
import type { HttpAuthorization, LoginWatch } from './authorization.ts';
import type { PostLimits } from './post-queue.ts';
import type { SendRequest } from './response.ts';
import type { ToolParameters } from './tool-parameters.ts';

/** Everything that a channel gets besides its address. */
export interface HttpChannelOptions {
  readonly limits: PostLimits & { readonly maxLineBytes: number; readonly maxDepth: number };
  readonly report: Report;
  readonly clock: Clock;
  /** See `ChannelTools`. */
  readonly observed: ObservedScope;
  /** How streams are resumed. */
  readonly times: RestartTimes;
  readonly send: SendRequest;
  readonly authorization: HttpAuthorization | undefined;
  readonly logins: LoginWatch;
  /** What the connection's channels have learnt of the server's tools. */
  readonly tools: ToolParameters;
}
