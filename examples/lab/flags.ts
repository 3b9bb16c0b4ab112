/** Command line flags of the lab over HTTP. */
import { parseArgs } from 'node:util';
import { defaultHttpLimits } from 'mcp-actors/http';
import type { HttpLimits } from 'mcp-actors/http';
import type { ServeHttpOptions } from 'mcp-actors/serve';

const options = {
  json: { type: 'boolean' },
  stateless: { type: 'boolean' },
  sse: { type: 'boolean' },
  'auth-issuer': { type: 'string' },
  'auth-audience': { type: 'string' },
  'auth-scope': { type: 'string', multiple: true },
  redis: { type: 'string' },
  'redis-lease': { type: 'string' },
  'max-body': { type: 'string' },
  'max-sessions': { type: 'string' },
  'session-idle-timeout': { type: 'string' },
  'drain-timeout': { type: 'string' },
  'allow-origin': { type: 'string', multiple: true },
  help: { type: 'boolean' },
} as const;

/** Limits by flag. */
const bounds = {
  'max-body': 'maxBodyBytes',
  'max-sessions': 'maxSessions',
  'session-idle-timeout': 'sessionIdleTimeoutMs',
} as const satisfies { readonly [flag: string]: keyof HttpLimits };

const help = `Usage: PORT=3000 npx tsx examples/lab/http.ts [flags]

Serves the laboratory on http://127.0.0.1:PORT/mcp, in both eras. SIGTERM ends it.

  --json                     Every POST is answered with application/json.
  --stateless                No session ids: every request stands alone.
  --sse                      Also GET /sse, the deprecated HTTP+SSE of 2024-11-05.
  --allow-origin ORIGIN      A web page of this origin may use it; may be repeated.
  --auth-issuer URL          Requests need a token of this issuer, whose keys are in its JWKS.
  --auth-audience X          Whom tokens are for, and the resource of the metadata: a URL.
  --auth-scope S             A scope that every request needs; may be repeated.
  --redis URL                Shares its sessions with the others at that Redis.
  --redis-lease MS           After how long without a sign of life a node counts as dead. Default: 10000.
  --max-body BYTES           The longest body. Default: ${defaultHttpLimits.maxBodyBytes}.
  --max-sessions N           How many sessions may be open. Default: ${defaultHttpLimits.maxSessions}.
  --session-idle-timeout MS  How long a session may be quiet. Default: ${defaultHttpLimits.sessionIdleTimeoutMs}.
  --drain-timeout MS         How long calls may go on once it is told to end. Default: 2000.
  --help                     Print this text.
`;

type Values = ReturnType<typeof parseArgs<{ readonly options: typeof options }>>['values'];

export type Flags =
  | { readonly kind: 'help'; readonly text: string }
  | { readonly kind: 'refused'; readonly message: string }
  | {
      readonly kind: 'serve';
      readonly http: ServeHttpOptions;
      /** Limits of the sessions. */
      readonly limits: { readonly drainTimeoutMs?: number };
      /** Redis URL for sharing sessions; undefined for a single process. */
      readonly redis: { readonly url: string; readonly leaseMs?: number } | undefined;
    };

/** Parses the flags and the PORT variable. */
export function readFlags(
  args: readonly string[],
  { PORT = '3000' }: { readonly PORT?: string },
): Flags {
  try {
    const { values } = parseArgs({ args: [...args], options });
    if (values.help) return { kind: 'help', text: help };
    const limits = Object.entries(bounds).flatMap(([flag, limit]) => {
      const text = values[flag as keyof typeof bounds];
      return text === undefined ? [] : [[limit, numberOf(`--${flag}`, text)]];
    });
    return {
      kind: 'serve',
      redis: redisOf(values),
      limits: drainOf(values),
      http: {
        port: numberOf('PORT', PORT, 0),
        health: true,
        limits: Object.fromEntries(limits) as Partial<HttpLimits>,
        ...(values.json ? { jsonResponses: true } : {}),
        ...(values.stateless ? { stateless: true } : {}),
        ...(values.sse ? { sse: true } : {}),
        ...authorizationOf(values),
        ...(values['allow-origin'] ? { allowedOrigins: values['allow-origin'] } : {}),
      },
    };
  } catch (error) {
    return { kind: 'refused', message: error instanceof Error ? error.message : String(error) };
  }
}

function redisOf({ redis: url, 'redis-lease': lease }: Values) {
  if (url === undefined) return undefined;
  return lease === undefined ? { url } : { url, leaseMs: numberOf('--redis-lease', lease) };
}

function drainOf({ 'drain-timeout': drain }: Values) {
  return drain === undefined ? {} : { drainTimeoutMs: numberOf('--drain-timeout', drain) };
}

function authorizationOf({
  'auth-issuer': issuer,
  'auth-audience': audience,
  'auth-scope': requiredScopes = [],
}: Values): Pick<ServeHttpOptions, 'authorization'> {
  if (issuer === undefined && audience === undefined) return {};
  if (issuer === undefined) throw new Error('--auth-audience needs --auth-issuer');
  if (audience === undefined) throw new Error('--auth-issuer needs --auth-audience');
  return { authorization: { issuer, audience, resource: audience, requiredScopes } };
}

function numberOf(name: string, text: string, least = 1): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && Number.isSafeInteger(value) && value >= least) return value;
  throw new Error(`${name} must be an integer of at least ${least}, got ${JSON.stringify(text)}`);
}
