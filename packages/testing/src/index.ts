/**
 * Test kit `mcp-actors/testing`, independent of the test runner.
 *
 * - `testClient(server)`: a client with typed calls, enough for most tests.
 * - `scriptedConversation(server)`: a scripted peer for raw bytes, invalid messages and answers out
 *   of order.
 * - `serverContract`, `transportContract`: requirements for every server and transport.
 * - `expectReplay(file)`: a recording as a test.
 * - `gate()`, `TestClock`, `flush()`: control of order and time without sleeping.
 */
export { endOfInputContract, serverContract, transportContract } from './contract.ts';
export { credentialStoreContract } from './credential-store-contract.ts';
export type { OpenCredentialWorld } from './credential-store-contract.ts';
export { RecordedFacts, scriptedConversation } from './conversation.ts';
export type { Conversation, ConversationOptions } from './conversation.ts';
export { gate } from './gate.ts';
export type { Gate } from './gate.ts';
export {
  cancelled,
  enveloped,
  failure,
  initialize,
  initialized,
  isNotificationFrame,
  isRequestFrame,
  isResponseFrame,
  notification,
  progressed,
  request,
  result,
  rootsChanged,
  toolCall,
} from './messages.ts';
export type { EnvelopeOptions } from './messages.ts';
export { ErrorAnswer, ScriptedPeer } from './peer.ts';
export { expectReplay } from './replay.ts';
export { storesContract } from './stores/contract.ts';
export type { OpenStoresWorld } from './stores/contract.ts';
export { taskStoreContract } from './stores/task-contract.ts';
export type { OpenTaskStoreWorld, TaskStoreWorld } from './stores/task-contract.ts';
export { testClient } from './test-client.ts';
export type { TestClientOptions, TestClient } from './test-client.ts';
export { TestClock, flush } from './clock.ts';
