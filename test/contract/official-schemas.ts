/** What the official SDK's schemas say of a frame. They know the latest revision; what an older one lacks is tested where it is left out. */
import {
  CallToolResultSchema,
  CancelledNotificationSchema,
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  EmptyResultSchema,
  InitializeResultSchema,
  JSONRPCMessageSchema,
  ListResourceTemplatesResultSchema,
  ListResourcesResultSchema,
  ListRootsRequestSchema,
  ListToolsResultSchema,
  ProgressNotificationSchema,
  ReadResourceResultSchema,
  RequestSchema,
  ResourceUpdatedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { isNotificationFrame, isRequestFrame, isResponseFrame } from 'mcp-actors/testing';
import type { FrameCheck } from 'mcp-actors/testing';

interface Schema {
  safeParse(value: unknown): { readonly success: boolean; readonly error?: Error | undefined };
}

type Schemas = { readonly [method: string]: Schema };

const results: Schemas = {
  initialize: InitializeResultSchema,
  ping: EmptyResultSchema,
  'tools/list': ListToolsResultSchema,
  'tools/call': CallToolResultSchema,
  'resources/list': ListResourcesResultSchema,
  'resources/templates/list': ListResourceTemplatesResultSchema,
  'resources/read': ReadResourceResultSchema,
  'resources/subscribe': EmptyResultSchema,
  'resources/unsubscribe': EmptyResultSchema,
};

const requests: Schemas = {
  'roots/list': ListRootsRequestSchema,
  'sampling/createMessage': CreateMessageRequestSchema,
  'elicitation/create': ElicitRequestSchema,
  // A method of the tests’ own: a handler may ask for what no revision knows.
  'custom/question': RequestSchema,
};

const notifications: Schemas = {
  'notifications/cancelled': CancelledNotificationSchema,
  'notifications/progress': ProgressNotificationSchema,
  'notifications/resources/updated': ResourceUpdatedNotificationSchema,
};

/** Says how a frame of a session's differs from the official schemas. */
export const officialSchemas: FrameCheck = (frame, answered) =>
  fault(JSONRPCMessageSchema, frame) ?? faultOfBody(frame, answered);

function faultOfBody(frame: unknown, answered: string | undefined): string | undefined {
  if (isResponseFrame(frame)) {
    if (frame.error || answered === undefined) return undefined;
    return fault(results[answered], frame.result, `a result of ${answered}`);
  }
  if (isRequestFrame(frame)) return fault(requests[frame.method], frame, frame.method);
  return isNotificationFrame(frame)
    ? fault(notifications[frame.method], frame, frame.method)
    : 'This is no message';
}

function fault(schema: Schema | undefined, value: unknown, what = 'a message'): string | undefined {
  if (!schema) return `No schema is known for ${what}`;
  const { success, error } = schema.safeParse(value);
  if (success) return undefined;
  const reason = String(error?.message).replaceAll(/\s+/g, ' ').slice(0, 200);
  return `The official schema refuses ${what} (${reason})`;
}
