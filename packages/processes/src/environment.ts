/** The environment of a launched process: the variables on our allow-list, and what its entry declares. */

import { inspectValue } from '../../../src/protocol/classify.ts';
import type { PlatformNames } from './platform.ts';
import { thisPlatform } from './platforms.ts';

/** What reaches the network through proxies and certificates of one's own, for `inheritEnv`. */
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
 * What a process inherits of our environment beside the allow-list: everything, or these names, of
 * which `NPM_*` stands for all that begin so.
 */
export type InheritEnv = boolean | readonly string[];

/** @throws {RangeError} it is neither a boolean nor names */
export function refuseInheritEnv(value: unknown): void {
  const areNames = Array.isArray(value) && value.every((name) => typeof name === 'string');
  if (typeof value === 'boolean' || areNames) return;
  throw new RangeError(`inheritEnv must be a boolean or names, this is ${inspectValue(value)}`);
}

/** Variables by their names; undefined unsets one that would be inherited. */
export type Environment = { readonly [name: string]: string | undefined };

/**
 * The whole environment of a process.
 *
 * @param declared what its entry says; it wins over what is inherited
 * @param own the environment that is inherited from
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
    // A function that an old bash has exported: some shells would run it.
    if (isInherited(name) && !value?.startsWith('()')) variables.set(key(name), [name, value]);
  }
  for (const [name, value] of Object.entries(declared)) variables.set(key(name), [name, value]);
  const defined = [...variables.values()].filter(
    (variable): variable is [string, string] => variable[1] !== undefined,
  );
  return Object.fromEntries(defined);
}

/**
 * Variables that a process names in a text, that we have, and that it has not inherited: it may have
 * missed them.
 *
 * @param given its environment
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
