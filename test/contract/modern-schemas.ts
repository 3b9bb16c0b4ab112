/**
 * Schemas for answers of the modern era. The official packages are lenient about members that older
 * revisions lack; the requirements of 2026-07-28 are added here.
 */
import {
  CallToolResultSchema,
  CompleteResultSchema,
  DiscoverResultSchema,
  GetPromptResultSchema,
  ListPromptsResultSchema,
  ListResourceTemplatesResultSchema,
  ListResourcesResultSchema,
  ListToolsResultSchema,
  ReadResourceResultSchema,
  SubscriptionsAcknowledgedNotificationSchema,
  SubscriptionsListenResultSchema,
} from '@modelcontextprotocol/core';
import { isResponseFrame } from 'mcp-actors/testing';
import { z } from 'zod';
import { inputRequests } from './input-request-schemas.ts';
import { createdTask, taskResults } from './tasks-extension-schemas.ts';

const versionKey = 'io.modelcontextprotocol/protocolVersion';
const subscriptionIdKey = 'io.modelcontextprotocol/subscriptionId';
const serverInfoKey = 'io.modelcontextprotocol/serverInfo';

const complete = z.looseObject({ resultType: z.literal('complete') });

const identified = z.looseObject({
  _meta: z.looseObject({
    [serverInfoKey]: z.looseObject({ name: z.string(), version: z.string() }),
  }),
});

const cacheable = z.looseObject({
  ttlMs: z.int().min(0),
  cacheScope: z.enum(['public', 'private']),
});

const uncached = z.looseObject({ ttlMs: z.never().optional(), cacheScope: z.never().optional() });

/** Tools of this revision do not declare task support. */
const tools = z.looseObject({ tools: z.array(z.looseObject({ execution: z.never().optional() })) });

/** Messages of a subscription have its id. */
const ofSubscription = z.looseObject({
  _meta: z.looseObject({ [subscriptionIdKey]: z.union([z.string(), z.number()]) }),
});

/** The first message of a subscription. */
export const acknowledgement = z
  .looseObject({ params: ofSubscription })
  .and(SubscriptionsAcknowledgedNotificationSchema);

/** Each result must pass all of its schemas. */
const results: { readonly [method: string]: readonly z.ZodType[] } = {
  'server/discover': [DiscoverResultSchema, cacheable],
  'tools/list': [ListToolsResultSchema, cacheable, tools],
  'tools/call': [CallToolResultSchema, uncached],
  'resources/list': [ListResourcesResultSchema, cacheable],
  'resources/templates/list': [ListResourceTemplatesResultSchema, cacheable],
  'resources/read': [ReadResourceResultSchema, cacheable],
  'prompts/list': [ListPromptsResultSchema, cacheable],
  'prompts/get': [GetPromptResultSchema, uncached],
  'completion/complete': [CompleteResultSchema, uncached],
  ...taskResults,
  'subscriptions/listen': [SubscriptionsListenResultSchema, ofSubscription, uncached],
};

const dataOfErrors: { readonly [code: number]: z.ZodType } = {
  [-32021]: z.looseObject({ requiredCapabilities: z.record(z.string(), z.looseObject({})) }),
  [-32022]: z.looseObject({ supported: z.array(z.string()).min(1), requested: z.string() }),
};

/** An `input_required` result. Not cached. */
const inputRequired = z
  .looseObject({
    resultType: z.literal('input_required'),
    inputRequests: inputRequests.optional(),
    requestState: z.string().optional(),
    ttlMs: z.never().optional(),
    cacheScope: z.never().optional(),
  })
  .refine((result) => result.inputRequests ?? result.requestState);

const mayRequireInput: readonly string[] = ['tools/call', 'prompts/get', 'resources/read'];

/** Intermediate results of a call. */
const others: { readonly [resultType: string]: z.ZodType } = {
  input_required: inputRequired,
  task: createdTask,
};

const definedCodes: readonly number[] = [-32020, -32021, -32022];

export function isEnveloped(params: object | undefined): boolean {
  const meta = (params as { readonly _meta?: unknown } | undefined)?._meta;
  return typeof meta === 'object' && meta !== null && versionKey in meta;
}

/** Validates the answer to a request with an envelope. */
export function validateModernAnswer(frame: unknown, method = ''): string | undefined {
  if (!isResponseFrame(frame)) return 'This answers nothing';
  if (frame.error) return validateError(frame.error);
  const schemas = results[method];
  if (!schemas) return `No schema is known for a result of ${method}`;
  const { resultType } = frame.result ?? {};
  const other = mayRequireInput.includes(method) ? others[String(resultType)] : undefined;
  for (const schema of other ? [identified, other] : [complete, identified, ...schemas]) {
    const { success, error } = schema.safeParse(frame.result);
    if (!success) return `The schemas refuse a result of ${method}: ${String(error?.message)}`;
  }
  return undefined;
}

/** @see MCP 2026-07-28, basic, "Error Codes" */
function validateError(error: { readonly code: number; readonly data?: unknown }) {
  const { code, data } = error;
  if (code >= -32099 && code <= -32000 && !definedCodes.includes(code)) {
    return `The revision forbids the code ${code}`;
  }
  const schema = dataOfErrors[code];
  return !schema || schema.safeParse(data).success
    ? undefined
    : `The error ${code} needs other data than ${JSON.stringify(data)}`;
}
