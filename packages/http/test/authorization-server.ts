/**
 * A small authorization server for tests: metadata, dynamic registration, PKCE with resource
 * indicators (redirects without asking), device codes, tokens and refresh, revocation, token
 * exchange, rotating keys, introspection.
 */
import { createHash, randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { SignJWT, createLocalJWKSet, exportJWK, generateKeyPair, jwtVerify } from 'jose';
import type { CryptoKey, JWK, JWTHeaderParameters } from 'jose';
import { keptAlive } from './serving.ts';

interface SigningKey {
  readonly kid: string;
  readonly privateKey: CryptoKey;
  readonly jwk: JWK;
}

interface Grant {
  readonly clientId: string;
  readonly scope: string;
  readonly resource: string | undefined;
}

interface Code extends Grant {
  readonly redirectUri: string;
  readonly challenge: string;
}

interface Options {
  /** Path of the issuer, such as `/tenant`. */
  readonly path?: string;
  /** Location of its metadata. */
  readonly discovery?: 'oauth' | 'openid' | 'openid, appended';
  /** Format of its tokens. */
  readonly tokens?: 'jwt' | 'opaque';
  /** Scopes granted by the user. Default: the requested ones. */
  readonly grants?: (asked: string) => string;
}

/** A device login and the user's decision. */
interface DeviceLogin extends Grant {
  readonly userCode: string;
  standing: 'pending' | 'agreed' | 'declined' | 'expired';
}

/** Sends a different response; returns true if it did. */
type Fault = (request: IncomingMessage, response: ServerResponse) => boolean;

class Refused extends Error {}

export class AuthorizationServer {
  readonly #options: Options;
  readonly #http = createServer(
    keptAlive,
    (request, response) => void this.#serve(request, response),
  );
  readonly #clients = new Map<string, readonly string[]>();
  readonly #secrets = new Map<string, Secret>();
  readonly #codes = new Map<string, Code>();
  readonly #refreshing = new Map<string, Grant>();
  readonly #opaque = new Map<string, object>();
  readonly #devices = new Map<string, DeviceLogin>();
  #keys: SigningKey[] = [];
  /** Requests received, such as `GET /jwks`. */
  readonly asked: string[] = [];
  /** URL, `Authorization` header and body of each request. */
  readonly received: string[] = [];
  /** Credentials of the client that may introspect. */
  readonly introspector = { clientId: 'mcp server', clientSecret: 'p%ss: w+rd' };
  fault: Fault = () => false;
  /** Overrides the metadata document. */
  metadata: (own: object) => object = (own) => own;
  /** Overrides the redirect URL. */
  sendBack: (url: URL) => URL = (url) => url;
  /** Awaited before each response. */
  meanwhile: (path: string) => Promise<void> | void = () => {};
  /** True to drop a response after processing the request. */
  isLost: (path: string) => boolean = () => false;
  /** A client with its own credentials. */
  readonly machine = { clientId: 'machine', clientSecret: 'machine-secret' };
  /** A server that exchanges its callers' tokens. */
  readonly exchanger = { clientId: 'exchanger', clientSecret: 'exchange secret' };
  /** Validates a client assertion. */
  isAsserted: (form: URLSearchParams) => boolean = () => false;
  /** Overrides of the token response. */
  granted: object = {};
  /** Overrides of the token exchange response. */
  exchanged: object = {};
  /** Lifetime of its tokens, seconds. */
  lifetime = 3600;
  /** Members of the device response besides the codes; `interval` in seconds. */
  device: object = { interval: 5, expires_in: 600 };
  issuer = '';

  static async start(options: Options = {}): Promise<AuthorizationServer> {
    const server = new AuthorizationServer(options);
    await server.rotate();
    await new Promise<void>((resolve) => server.#http.listen(0, '127.0.0.1', resolve));
    const { port } = server.#http.address() as AddressInfo;
    server.issuer = `http://127.0.0.1:${port}${options.path ?? ''}`;
    return server;
  }

  private constructor(options: Options) {
    this.#options = options;
  }

  /** Replaces all keys by a new one. */
  async rotate({ kid = randomUUID() }: { readonly kid?: string } = {}): Promise<void> {
    this.#keys = [];
    await this.addKey({ kid });
  }

  /** Adds a key and signs with it. */
  async addKey({ kid = randomUUID() }: { readonly kid?: string } = {}): Promise<void> {
    const { privateKey, publicKey } = await generateKeyPair('ES256');
    const jwk = { ...(await exportJWK(publicKey)), kid, use: 'sig', alg: 'ES256' };
    this.#keys = [{ kid, privateKey, jwk }, ...this.#keys];
  }

  /** Issues a token with these claims; undefined ones are omitted. */
  async issue(claims: Record<string, unknown> = {}, header: Partial<JWTHeaderParameters> = {}) {
    const now = Math.floor(Date.now() / 1000);
    const all = { iss: this.issuer, sub: 'ada', iat: now, exp: now + this.lifetime, ...claims };
    if (this.#options.tokens === 'opaque') {
      const token = randomUUID();
      this.#opaque.set(token, all);
      return token;
    }
    const [key] = this.#keys;
    if (!key) throw new Error('There is no key');
    return await new SignJWT(all)
      .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', kid: key.kid, ...header })
      .sign(key.privateKey);
  }

  /** Revokes a token. */
  revoke(token: string): void {
    this.#opaque.delete(token);
  }

  /** Records the user's decision for a device code. */
  decide(userCode: string, standing: DeviceLogin['standing']): void {
    for (const login of this.#devices.values()) {
      if (login.userCode === userCode) login.standing = standing;
    }
  }

  /** Drops all device logins. */
  forgetDevices(): void {
    this.#devices.clear();
  }

  /** Invalidates all refresh tokens. */
  forgetRefreshTokens(): void {
    this.#refreshing.clear();
  }

  /** Drops all registered clients. */
  forgetClients(): void {
    this.#clients.clear();
    this.#refreshing.clear();
  }

  /** Registers a confidential client. */
  admit(client: Secret, redirectUris: readonly string[]): void {
    this.#clients.set(client.clientId, redirectUris);
    this.#secrets.set(client.clientId, client);
  }

  /** Registers a client by the URL of its metadata document. */
  know(clientMetadataUrl: string, redirectUris: readonly string[]): void {
    this.metadata = (own) => ({ ...own, client_id_metadata_document_supported: true });
    this.#clients.set(clientMetadataUrl, redirectUris);
  }

  /** Number of requests for a path. */
  count(path: string): number {
    return this.asked.filter((one) => one.endsWith(` ${path}`)).length;
  }

  async close(): Promise<void> {
    this.#http.closeAllConnections();
    await new Promise((resolve) => this.#http.close(resolve));
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const urlOf = () => new URL(request.url ?? '/', this.issuer);
    this.asked.push(`${request.method} ${urlOf().pathname}`);
    if (this.fault(request, response)) return;
    const url = urlOf();
    try {
      const body = await text(request);
      this.received.push(`${url.href} ${request.headers.authorization ?? ''} ${body}`);
      await this.meanwhile(url.pathname);
      const given = await this.#answer(url, request, body);
      if (this.isLost(url.pathname)) response.destroy();
      else if (given instanceof URL) response.writeHead(302, { location: given.href }).end();
      else
        response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(given));
    } catch (error) {
      const status = error instanceof Refused ? 400 : 500;
      const name = error instanceof Refused ? error.message : 'server_error';
      response.writeHead(name === 'not_found' ? 404 : status, {
        'content-type': 'application/json',
      });
      response.end(JSON.stringify({ error: name }));
    }
  }

  async #answer(url: URL, request: IncomingMessage, body: string): Promise<object> {
    const path = this.#options.path ?? '';
    if (url.pathname === this.#metadataPath()) return this.metadata(this.#metadata());
    if (url.pathname === `${path}/jwks`) return { keys: this.#keys.map(({ jwk }) => jwk) };
    if (url.pathname === `${path}/authorize`) return this.#authorize(url.searchParams);
    if (url.pathname === `${path}/register`) return this.#register(body);
    const form = new URLSearchParams(body);
    if (url.pathname === `${path}/device`) return this.#device(form, request);
    if (url.pathname === `${path}/revoke`) return this.#revoke(form, request);
    if (url.pathname === `${path}/token`) return await this.#token(form, request);
    if (url.pathname === `${path}/introspect`) return this.#introspect(form, request);
    throw new Refused('not_found');
  }

  #metadataPath(): string {
    const { path = '', discovery = 'oauth' } = this.#options;
    if (discovery === 'oauth') return `/.well-known/oauth-authorization-server${path}`;
    if (discovery === 'openid') return `/.well-known/openid-configuration${path}`;
    return `${path}/.well-known/openid-configuration`;
  }

  #metadata(): object {
    const { issuer } = this;
    return {
      issuer,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/token`,
      registration_endpoint: `${issuer}/register`,
      introspection_endpoint: `${issuer}/introspect`,
      device_authorization_endpoint: `${issuer}/device`,
      revocation_endpoint: `${issuer}/revoke`,
      jwks_uri: `${issuer}/jwks`,
      response_types_supported: ['code'],
      grant_types_supported: ['authorization_code', 'refresh_token'],
      code_challenge_methods_supported: ['S256'],
      token_endpoint_auth_methods_supported: ['none', 'client_secret_basic'],
      authorization_response_iss_parameter_supported: true,
    };
  }

  #register(body: string): object {
    const metadata = JSON.parse(body) as { readonly redirect_uris?: readonly string[] };
    if (!metadata.redirect_uris?.length) throw new Refused('invalid_redirect_uri');
    const clientId = randomUUID();
    this.#clients.set(clientId, metadata.redirect_uris);
    return { ...metadata, client_id: clientId, token_endpoint_auth_method: 'none' };
  }

  #authorize(query: URLSearchParams): URL {
    const clientId = query.get('client_id') ?? '';
    const redirectUri = query.get('redirect_uri') ?? '';
    if (!this.#clients.get(clientId)?.includes(redirectUri)) throw new Refused('invalid_client');
    const challenge = query.get('code_challenge');
    if (query.get('code_challenge_method') !== 'S256' || !challenge) {
      throw new Refused('invalid_request');
    }
    const { grants = (asked: string) => asked } = this.#options;
    const scope = grants(query.get('scope') ?? '');
    const resource = query.get('resource') ?? undefined;
    const code = randomUUID();
    this.#codes.set(code, { clientId, redirectUri, challenge, scope, resource });
    const back = new URL(redirectUri);
    const state = query.get('state');
    back.searchParams.set('code', code);
    back.searchParams.set('iss', this.issuer);
    if (state !== null) back.searchParams.set('state', state);
    return this.sendBack(back);
  }

  async #token(form: URLSearchParams, request: IncomingMessage): Promise<object> {
    const type = form.get('grant_type');
    if (type === 'client_credentials') return await this.#machineToken(form, request);
    if (type === exchangeGrant) return await this.#exchange(form, request);
    const client = this.#clientOf(form, request);
    const grant =
      type === 'refresh_token'
        ? this.#refresh(form, client)
        : type === deviceGrant
          ? this.#deviceGrant(form, client)
          : this.#code(form, client);
    // A token is valid only for the requested resource.
    if (form.has('resource') && form.get('resource') !== grant.resource) {
      throw new Refused('invalid_target');
    }
    const { clientId, scope, resource } = grant;
    const refresh = randomUUID();
    this.#refreshing.set(refresh, grant);
    return {
      access_token: await this.issue({ aud: resource, client_id: clientId, scope }),
      token_type: 'Bearer',
      expires_in: this.lifetime,
      refresh_token: refresh,
      scope,
      ...this.granted,
    };
  }

  #device(form: URLSearchParams, request: IncomingMessage): object {
    const clientId = this.#clientOf(form, request);
    if (!this.#clients.has(clientId)) throw new Refused('invalid_client');
    const deviceCode = randomUUID();
    const userCode = `CODE-${this.#devices.size + 1}`;
    const scope = form.get('scope') ?? '';
    const resource = form.get('resource') ?? undefined;
    this.#devices.set(deviceCode, { clientId, scope, resource, userCode, standing: 'pending' });
    const uri = `${this.issuer}/enter`;
    return {
      device_code: deviceCode,
      user_code: userCode,
      verification_uri: uri,
      verification_uri_complete: `${uri}?user_code=${userCode}`,
      ...this.device,
    };
  }

  #deviceGrant(form: URLSearchParams, clientId: string): Grant {
    const deviceCode = form.get('device_code') ?? '';
    const login = this.#devices.get(deviceCode);
    if (login?.clientId !== clientId) throw new Refused('invalid_grant');
    if (login.standing === 'pending') throw new Refused('authorization_pending');
    this.#devices.delete(deviceCode);
    if (login.standing === 'agreed') return login;
    throw new Refused(login.standing === 'expired' ? 'expired_token' : 'access_denied');
  }

  #revoke(form: URLSearchParams, request: IncomingMessage): object {
    const clientId = this.#clientOf(form, request);
    const token = form.get('token') ?? '';
    if (this.#refreshing.get(token)?.clientId === clientId) this.#refreshing.delete(token);
    this.#opaque.delete(token);
    return {};
  }

  async #machineToken(form: URLSearchParams, request: IncomingMessage): Promise<object> {
    if (!isGiven(request, this.machine)) throw new Refused('invalid_client');
    const [aud, scope] = [form.get('resource'), form.get('scope') ?? ''];
    const access_token = await this.issue({ aud, client_id: this.machine.clientId, scope });
    return { access_token, token_type: 'Bearer', expires_in: this.lifetime };
  }

  /** Exchanges a subject token for one of another server. */
  async #exchange(form: URLSearchParams, request: IncomingMessage): Promise<object> {
    const isKnown = isGiven(request, this.exchanger) || this.isAsserted(form);
    if (!isKnown) throw new Refused('invalid_client');
    const subject = await this.#claimsOf(form.get('subject_token') ?? '');
    const [aud, scope] = [form.getAll('audience'), form.get('scope') ?? ''];
    const resource = form.getAll('resource');
    if (aud.includes('https://forbidden.example.com')) throw new Refused('invalid_target');
    const { sub } = subject;
    const claims = { sub, aud: [...aud, ...resource], scope, act: { sub: 'exchanger' } };
    return {
      access_token: await this.issue(claims),
      issued_token_type: 'urn:ietf:params:oauth:token-type:access_token',
      token_type: 'Bearer',
      expires_in: this.lifetime,
      scope,
      ...this.exchanged,
    };
  }

  async #claimsOf(token: string): Promise<{ readonly sub?: unknown }> {
    const known = this.#opaque.get(token);
    if (known) return known;
    const keys = createLocalJWKSet({ keys: this.#keys.map(({ jwk }) => jwk) });
    const verified = await jwtVerify(token, keys).catch(() => undefined);
    if (!verified) throw new Refused('invalid_grant');
    return verified.payload;
  }

  /** The client of a token request. */
  #clientOf(form: URLSearchParams, request: IncomingMessage): string {
    const shown = [...this.#secrets.values()].find((secret) => isGiven(request, secret));
    const clientId = shown?.clientId ?? form.get('client_id') ?? '';
    if (this.#secrets.has(clientId) && !shown) throw new Refused('invalid_client');
    return clientId;
  }

  #code(form: URLSearchParams, clientId: string): Grant {
    const code = this.#codes.get(form.get('code') ?? '');
    this.#codes.delete(form.get('code') ?? '');
    const digest = createHash('sha256').update(form.get('code_verifier') ?? '');
    const isTheirs =
      code?.clientId === clientId &&
      code?.redirectUri === form.get('redirect_uri') &&
      code?.challenge === digest.digest('base64url');
    if (!code || !isTheirs) throw new Refused('invalid_grant');
    return code;
  }

  /** Refresh tokens are single-use. */
  #refresh(form: URLSearchParams, clientId: string): Grant {
    if (!this.#clients.has(clientId)) throw new Refused('invalid_client');
    const token = form.get('refresh_token') ?? '';
    const grant = this.#refreshing.get(token);
    this.#refreshing.delete(token);
    if (!grant || grant.clientId !== clientId) throw new Refused('invalid_grant');
    return grant;
  }

  #introspect(form: URLSearchParams, request: IncomingMessage): object {
    if (request.method !== 'POST' || !isGiven(request, this.introspector)) {
      throw new Refused('invalid_client');
    }
    const claims = this.#opaque.get(form.get('token') ?? '');
    return claims ? { active: true, token_type: 'Bearer', ...claims } : { active: false };
  }
}

const exchangeGrant = 'urn:ietf:params:oauth:grant-type:token-exchange';
const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code';

interface Secret {
  readonly clientId: string;
  readonly clientSecret: string;
}

/** True if a request has these HTTP Basic credentials. */
function isGiven({ headers }: IncomingMessage, { clientId, clientSecret }: Secret): boolean {
  const encoded = headers.authorization?.replace(/^Basic /, '') ?? '';
  return new URLSearchParams(atob(encoded).replace(':', '=')).get(clientId) === clientSecret;
}
