/** How requests reach other nodes: connections, signatures, and the list of allowed nodes. Loaded only where nodes share sessions. */
export { allowedPeers } from './allowed-peers.ts';
export { PeerClient } from './peer-client.ts';
export { digestOf, keysFrom, sign, verify } from './signature.ts';
