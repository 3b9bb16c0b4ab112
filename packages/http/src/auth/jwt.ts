/**
 * Checks tokens that are JWTs.
 *
 * @see RFC 9068; RFC 8725; MCP 2026-07-28, basic/authorization, "Token Handling"
 */
import type { CryptoKey, JWTVerifyResult, LocalJWKSet } from 'jose';
import { isJsonObject } from '../../../../src/protocol/classify.ts';
import type { Principal } from '../../../../src/protocol/request-origin.ts';
import { endpointOf } from './fetch-json.ts';
import { KeySet } from './key-set.ts';
import { algorithmsOf, audiencesOf } from './options.ts';
import type { JwtOptions, TokenLimits } from './options.ts';
import { matchesAudience, principalOfClaims } from './principal-claims.ts';
import { InvalidToken } from './token-check.ts';
import type { CheckToken, Time } from './token-check.ts';

/** Accepted values of the `typ` header. Other types were signed for other purposes. */
const types = [undefined, 'jwt', 'at+jwt', 'application/at+jwt', 'application/jwt'];

export function jwtCheck(options: JwtOptions, limits: TokenLimits, time: Time): CheckToken {
  const { issuer, jwksUri } = options;
  const algorithms = algorithmsOf(options);
  const audiences = audiencesOf(options);
  const keys = new KeySet(
    async (bounds) => jwksUri ?? (await endpointOf(issuer, 'jwks_uri', bounds)),
    limits,
    time.monotonic,
  );
  return async (token): Promise<Principal> => {
    const jose = await import('jose');
    const verifying = {
      issuer,
      algorithms,
      clockTolerance: limits.clockSkewSeconds,
      requiredClaims: ['exp', 'aud'],
    };
    const verify = (key: LocalJWKSet | CryptoKey): Promise<JWTVerifyResult> => {
      const all = { ...verifying, currentDate: new Date(time.wall()) };
      // One call for two overloads; the function tells the key types apart itself.
      return jose.jwtVerify(token, key as LocalJWKSet, all);
    };
    const { payload, protectedHeader } = await keys
      .use((find) => withAnyOf(find, verify), isMissingKey)
      .catch(refusal);
    if (!types.includes(protectedHeader.typ?.toLowerCase())) {
      throw new InvalidToken('The token is not an access token');
    }
    if (!matchesAudience(audiences, payload.aud)) throw new InvalidToken(wrongAudience);
    return principalOfClaims(issuer, payload);
  };
}

const wrongAudience = 'The token is for another server';

/** Tries every matching key, for tokens without a key id. */
async function withAnyOf(
  find: LocalJWKSet,
  verify: (key: LocalJWKSet | CryptoKey) => Promise<JWTVerifyResult>,
): Promise<JWTVerifyResult> {
  try {
    return await verify(find);
  } catch (error) {
    if (codeOf(error) !== 'ERR_JWKS_MULTIPLE_MATCHING_KEYS') throw error;
    let last = error;
    for await (const key of error as AsyncIterable<CryptoKey>) {
      try {
        return await verify(key);
      } catch (failure) {
        last = failure;
        if (codeOf(failure) !== 'ERR_JWS_SIGNATURE_VERIFICATION_FAILED') break;
      }
    }
    throw last;
  }
}

function codeOf(error: unknown): unknown {
  return isJsonObject(error) ? error['code'] : undefined;
}

function isMissingKey(error: unknown): boolean {
  return codeOf(error) === 'ERR_JWKS_NO_MATCHING_KEY';
}

/** Own messages, because those of the library may repeat parts of the token. */
function refusal(error: unknown): never {
  const code = codeOf(error);
  const claim = isJsonObject(error) ? error['claim'] : undefined;
  if (typeof code !== 'string' || !code.startsWith('ERR_J')) throw error;
  if (code === 'ERR_JWT_EXPIRED') throw new InvalidToken('The token has expired');
  if (code === 'ERR_JOSE_ALG_NOT_ALLOWED') {
    throw new InvalidToken('The token is signed with an algorithm that is not accepted');
  }
  if (claim === 'iss') throw new InvalidToken('The token was issued by another issuer');
  if (claim === 'aud') throw new InvalidToken(wrongAudience);
  if (claim === 'exp') throw new InvalidToken('The token has no expiry');
  if (claim === 'nbf') throw new InvalidToken('The token is not valid yet');
  if (code === 'ERR_JWKS_NO_MATCHING_KEY') {
    throw new InvalidToken('The token is signed with a key that its issuer does not publish');
  }
  if (code === 'ERR_JWS_SIGNATURE_VERIFICATION_FAILED') {
    throw new InvalidToken("The token's signature is invalid");
  }
  throw new InvalidToken('The token is not a signed JWT');
}
