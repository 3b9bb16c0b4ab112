/**
 * What an issuer says of itself.
 *
 * @see RFC 8414, 3; OpenID Connect Discovery 1.0, 4
 */
import type { JsonObject } from '../../protocol/frames.ts';
import { describe } from '../../protocol/classify.ts';
import { textOfError } from '../../protocol/errors.ts';
import { faultOfTrustedUrl, fetchJson } from './fetch-json.ts';
import type { FetchBounds } from './fetch-json.ts';

/** Where an issuer's metadata may be, in the order in which clients look. */
function metadataUrlsOf(issuer: string): readonly string[] {
  const { origin, pathname } = new URL(issuer);
  const path = pathname.replace(/\/$/, '');
  const inserted = ['oauth-authorization-server', 'openid-configuration'].map(
    (name) => `${origin}/.well-known/${name}${path}`,
  );
  return path === ''
    ? inserted
    : [...inserted, `${origin}${path}/.well-known/openid-configuration`];
}

/**
 * Asks an issuer where it has something.
 *
 * @param member of its metadata, a URL
 * @throws {Error} it says nothing, or something that must not be trusted; the message has each place
 */
export async function endpointOf(
  issuer: string,
  member: 'jwks_uri' | 'introspection_endpoint',
  bounds: FetchBounds,
): Promise<string> {
  const failures: string[] = [];
  for (const url of metadataUrlsOf(issuer)) {
    try {
      return readMember(await fetchJson(url, bounds), issuer, member, url);
    } catch (error) {
      failures.push(textOfError(error));
    }
  }
  throw new Error(`The issuer ${issuer} does not say its ${member}: ${failures.join('; ')}`);
}

function readMember(body: JsonObject, issuer: string, member: string, url: string): string {
  // A document that is somebody else's may be an attacker's.
  if (body['issuer'] !== issuer) {
    throw new Error(`${url} is the metadata of ${describe(body['issuer'])}, not of this issuer`);
  }
  const value = body[member];
  const fault = faultOfTrustedUrl(value);
  if (fault === undefined) return value as string;
  throw new Error(`"${member}" of ${url} ${fault}, this is ${describe(value)}`);
}
