/**
 * The functions of the official client that a login uses. They have a module of their own, so that
 * a bundle contains only them and not the whole client.
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
