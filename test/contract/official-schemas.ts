/**
 * Checks frames against the official SDKs' schemas of their era. The schemas know the latest
 * revision of each era; members missing from older ones are tested separately.
 */
import {
  CallToolResultSchema,
  CancelTaskResultSchema,
  CancelledNotificationSchema,
  CompleteResultSchema,
  CreateMessageRequestSchema,
  CreateTaskResultSchema,
  ElicitRequestSchema,
  ElicitationCompleteNotificationSchema,
  EmptyResultSchema,
  GetPromptResultSchema,
  GetTaskResultSchema,
  InitializeResultSchema,
  JSONRPCMessageSchema,
  ListPromptsResultSchema,
  ListResourceTemplatesResultSchema,
  ListResourcesResultSchema,
  ListRootsRequestSchema,
  ListTasksResultSchema,
  ListToolsResultSchema,
  LoggingMessageNotificationSchema,
  PingRequestSchema,
  ProgressNotificationSchema,
  PromptListChangedNotificationSchema,
  ReadResourceResultSchema,
  RequestSchema,
  ResourceListChangedNotificationSchema,
  ResourceUpdatedNotificationSchema,
  ToolListChangedNotificationSchema,
  TaskStatusNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { isNotificationFrame, isRequestFrame, isResponseFrame } from 'mcp-actors/testing';
import type { FrameCheck } from '../../packages/testing/src/peer.ts';
import { acknowledgement, validateModernAnswer, isEnveloped } from './modern-schemas.ts';
import { taskNotification } from './tasks-extension-schemas.ts';

interface Schema {
  safeParse(value: unknown): { readonly success: boolean; readonly error?: Error | undefined };
}

type Schemas = { readonly [method: string]: Schema };

const results: Schemas = {
  initialize: InitializeResultSchema,
  ping: EmptyResultSchema,
  'logging/setLevel': EmptyResultSchema,
  'tools/list': ListToolsResultSchema,
  // The schema of a tool's result accepts any object, so the members decide which of the two is
  // meant.
  'tools/call': {
    safeParse: (result) => {
      const isTask = typeof result === 'object' && result !== null && 'task' in result;
      return (isTask ? CreateTaskResultSchema : CallToolResultSchema).safeParse(result);
    },
  },
  'tasks/get': GetTaskResultSchema,
  'tasks/list': ListTasksResultSchema,
  'tasks/result': CallToolResultSchema,
  'tasks/cancel': CancelTaskResultSchema,
  'resources/list': ListResourcesResultSchema,
  'resources/templates/list': ListResourceTemplatesResultSchema,
  'resources/read': ReadResourceResultSchema,
  'resources/subscribe': EmptyResultSchema,
  'resources/unsubscribe': EmptyResultSchema,
  'prompts/list': ListPromptsResultSchema,
  'prompts/get': GetPromptResultSchema,
  'completion/complete': CompleteResultSchema,
};

const requests: Schemas = {
  ping: PingRequestSchema,
  'roots/list': ListRootsRequestSchema,
  'sampling/createMessage': CreateMessageRequestSchema,
  'elicitation/create': ElicitRequestSchema,
  // A method of the tests: handlers may send methods that no revision has.
  'custom/question': RequestSchema,
};

const notifications: Schemas = {
  'notifications/cancelled': CancelledNotificationSchema,
  'notifications/progress': ProgressNotificationSchema,
  'notifications/message': LoggingMessageNotificationSchema,
  'notifications/elicitation/complete': ElicitationCompleteNotificationSchema,
  'notifications/resources/updated': ResourceUpdatedNotificationSchema,
  'notifications/tasks': taskNotification,
  'notifications/subscriptions/acknowledged': acknowledgement,
  'notifications/tasks/status': TaskStatusNotificationSchema,
  'notifications/tools/list_changed': ToolListChangedNotificationSchema,
  'notifications/prompts/list_changed': PromptListChangedNotificationSchema,
  'notifications/resources/list_changed': ResourceListChangedNotificationSchema,
};

/** Describes how a frame violates the official schemas. */
export const officialSchemas: FrameCheck = (frame, answered, params) => {
  const isModern = answered === 'server/discover' || isEnveloped(params);
  return (
    validateValue(JSONRPCMessageSchema, frame) ??
    (isModern ? validateModernAnswer(frame, answered) : validateBody(frame, answered))
  );
};

function validateBody(frame: unknown, answered: string | undefined): string | undefined {
  if (isResponseFrame(frame)) {
    if (frame.error) return undefined;
    if (answered === undefined) return 'This result answers nothing that was asked';
    return validateValue(results[answered], frame.result, `a result of ${answered}`);
  }
  if (isRequestFrame(frame)) return validateValue(requests[frame.method], frame, frame.method);
  return isNotificationFrame(frame)
    ? validateValue(notifications[frame.method], frame, frame.method)
    : 'This is no message';
}

function validateValue(
  schema: Schema | undefined,
  value: unknown,
  what = 'a message',
): string | undefined {
  if (!schema) return `No schema is known for ${what}`;
  const { success, error } = schema.safeParse(value);
  if (success) return undefined;
  const reason = String(error?.message).replaceAll(/\s+/g, ' ').slice(0, 200);
  return `The official schema refuses ${what} (${reason})`;
}
