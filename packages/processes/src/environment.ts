/**
 * Environment of a launched process: allow-listed variables and those its configuration declares.
 */

import { inspectValue } from '../../../src/protocol/classify.ts';
import type { PlatformNames } from './platform.ts';
import { thisPlatform } from './platforms.ts';

/** Variables for proxies and custom certificates, for `inheritEnv`. */
export const networkVariables: readonly string[] = [
  'ALL_PROXY',
  'HTTP_PROXY',
  'HTTPS_PROXY',
  'NO_PROXY',
  'all_proxy',
  'http_proxy',
  'https_proxy',
  'no_proxy',
  'CURL_CA_BUNDLE',
  'NODE_EXTRA_CA_CERTS',
  'NODE_USE_ENV_PROXY',
  'NODE_USE_SYSTEM_CA',
  'REQUESTS_CA_BUNDLE',
  'SSL_CERT_DIR',
  'SSL_CERT_FILE',
];

/**
 * Variables inherited in addition to the allow-list: all, or these names. `NPM_*` matches every
 * name with that prefix.
 */
export type InheritEnv = boolean | readonly string[];

/**
 * Checks an `inheritEnv` option.
 *
 * @throws {RangeError} if it is neither a boolean nor a list of names
 */
export function assertInheritEnv(value: unknown): void {
  const areNames = Array.isArray(value) && value.every((name) => typeof name === 'string');
  if (typeof value === 'boolean' || areNames) return;
  throw new RangeError(
    `inheritEnv must be a boolean or an array of names, got ${inspectValue(value)}`,
  );
}

/** Variables by name. Undefined unsets an inherited variable. */
export type Environment = { readonly [name: string]: string | undefined };

/**
 * Builds the complete environment of a process.
 *
 * @param declared variables from its configuration; override inherited ones
 * @param own environment to inherit from
 */
export function environmentFor(
  declared: Environment = {},
  inheritEnv: InheritEnv = false,
  own: Environment = process.env,
  names: PlatformNames = thisPlatform.names,
): { readonly [name: string]: string } {
  const key = names.variable;
  const isInherited = inheritEnv === true ? () => true : matcher(inheritEnv || [], names);
  const variables = new Map<string, readonly [name: string, value: string | undefined]>();
  for (const [name, value] of Object.entries(own)) {
    // An old bash exports functions this way, and some shells would execute them.
    if (isInherited(name) && !value?.startsWith('()')) variables.set(key(name), [name, value]);
  }
  for (const [name, value] of Object.entries(declared)) variables.set(key(name), [name, value]);
  const defined = [...variables.values()].filter(
    (variable): variable is [string, string] => variable[1] !== undefined,
  );
  return Object.fromEntries(defined);
}

/**
 * Variables mentioned in a process's output that we have set but did not pass on, and whose absence
 * may explain a failure.
 *
 * @param given environment of the process
 */
export function withheldVariables(
  text: string,
  given: Environment,
  own: Environment = process.env,
): readonly string[] {
  const named = new Set(text.match(/\b[A-Z][A-Z\d_]{2,127}\b/g) ?? []);
  return [...named].filter((name) => own[name] !== undefined && given[name] === undefined);
}

function matcher(
  more: readonly string[],
  { inherited, variable: key }: PlatformNames,
): (name: string) => boolean {
  const all = [...inherited, ...more].map(key);
  const whole = new Set(all.filter((name) => !name.endsWith('*')));
  const beginnings = all.filter((name) => name.endsWith('*')).map((name) => name.slice(0, -1));
  return (name) =>
    whole.has(key(name)) || beginnings.some((beginning) => key(name).startsWith(beginning));
}
