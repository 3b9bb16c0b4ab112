/**
 * Functions of the official client needed by logins, in a module of their own so that bundles
 * exclude the rest of that client.
 */
export {
  IssuerMismatchError,
  OAuthError,
  OAuthErrorCode,
  RegistrationRejectedError,
  auth,
  checkResourceAllowed,
  createPrivateKeyJwtAuth,
  discoverAuthorizationServerMetadata,
  discoverOAuthServerInfo,
  exchangeAuthorization,
  fetchToken,
  refreshAuthorization,
  registerClient,
  resourceUrlFromServerUrl,
  selectClientAuthMethod,
  validateAuthorizationResponseIssuer,
} from '@modelcontextprotocol/client';
