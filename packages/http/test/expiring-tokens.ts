/** An endpoint with expiring and revocable tokens, on a controlled clock. */
import { createMcpServer, defineTool } from 'mcp-actors';
import { gate } from 'mcp-actors/testing';
import { SimulatedClock } from 'xstate';
import type { TokenLimits } from '../src/auth/options.ts';
import type { AuthorizationOptions, HttpOptions } from '../src/index.ts';
import { RawSession, initializeRequest, post } from './raw-client.ts';
import { reportLog, serveHttp } from './serving.ts';

export const minute = 60_000;
export const skew = 30_000;

/** Ada's tokens by lifetime. */
export const lives = { short: 10 * minute, long: 60 * minute, endless: undefined };
export type Token = keyof typeof lives;

export const as = (token: Token) => ({ authorization: `Bearer ${token}` });

interface ServeOptions {
  readonly maxSubscriptions?: number;
  readonly limits?: Partial<TokenLimits>;
}

/** Serves Ada on a controlled clock, which alone decides expiry. */
export async function serve(
  options: HttpOptions = {},
  { maxSubscriptions = 100, limits = {} }: ServeOptions = {},
) {
  const clock = new SimulatedClock();
  const begun = Date.now();
  const refused = new Set<string>();
  const held = gate();
  const away = new Set<string>();
  const shortened = new Map<string, number>();
  const authorization: AuthorizationOptions = {
    limits,
    verifyToken: (token) => {
      if (away.has(token)) throw new Error('The keys cannot be read');
      if (!(token in lives) || refused.has(token)) return undefined;
      const life = shortened.get(token) ?? lives[token as Token];
      return { subject: 'ada', ...(life === undefined ? {} : { expiresAt: begun + life }) };
    },
  };
  const push = defineTool({
    name: 'push',
    description: 'Notifies without a request',
    handler: (_, { session }) => {
      session.notify('test/step', {});
      return 'done';
    },
  });
  const hold = defineTool({
    name: 'hold',
    description: 'Waits until it is let go',
    handler: async (_, { signal }) => {
      await held.pass(signal);
      return 'held';
    },
  });
  const server = createMcpServer({ name: 'guarded', version: '1', tools: [push, hold] });
  const facts = reportLog();
  const { report } = facts;
  const session = { report, limits: { maxSubscriptions } };
  const url = await serveHttp(server, { authorization, clock, report, session, ...options });
  /** Advances the clock in steps, with event loop turns in between. */
  const pass = async (ms: number) => {
    for (let left = ms; left > 0; left -= minute) {
      clock.increment(Math.min(left, minute));
      await fetch(url);
    }
  };
  const named = (wanted: string) => facts.facts.filter(({ name }) => name === wanted);
  const expired = () => named('authorization.expired');
  const revoked = () => named('authorization.revoked');
  return {
    ...facts,
    url,
    server,
    pass,
    held,
    named,
    expired,
    revoked,
    refuse: (token: Token) => refused.add(token),
    away,
    /** Shortens a token's lifetime at its issuer. */
    shorten: (token: Token, ms: number) => shortened.set(token, ms),
  };
}

export async function begin(url: URL, token: Token): Promise<RawSession> {
  const begun = await post(url, initializeRequest(), as(token));
  await begun.text();
  const session = new RawSession(url, {
    ...as(token),
    'mcp-session-id': begun.headers.get('mcp-session-id') ?? '',
  });
  await session.post({ jsonrpc: '2.0', method: 'notifications/initialized' });
  return session;
}
