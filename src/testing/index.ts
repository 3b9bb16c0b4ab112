/** The test kit: `mcp-actors/testing`. */
export { converse } from './conversation.ts';
export type { Connection, Conversation, ConversationOptions } from './conversation.ts';
export { RecordedFacts } from './facts.ts';
export { gate } from './gate.ts';
export type { Gate } from './gate.ts';
export {
  cancelled,
  failure,
  initialize,
  initialized,
  isBatchFrame,
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
export type {
  Introduction,
  Message,
  NotificationFrame,
  RequestFrame,
  ResponseFrame,
} from './messages.ts';
export { ErrorAnswer, ScriptedPeer } from './peer.ts';
export type { FrameCheck, PeerOptions, Wire } from './peer.ts';
export { turn } from './turn.ts';
