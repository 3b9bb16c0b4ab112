/**
 * Connections, signatures and the allowlist for forwarded requests. Loaded only for shared
 * sessions.
 */
export { allowedPeers } from './allowed-peers.ts';
export { PeerClient } from './peer-client.ts';
export { digestOf, keysFrom, sign, verify } from './signature.ts';
