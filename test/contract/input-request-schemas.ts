/** What clients of 2026-07-28 are asked in results: of calls, and of tasks. */
import {
  CreateMessageRequestSchema,
  ElicitRequestFormParamsSchema,
  ListRootsRequestSchema,
} from '@modelcontextprotocol/core';
import { z } from 'zod';

/** The package demands the id that URLs have had until 2025-11-25. */
const openUrl = z.looseObject({
  mode: z.literal('url'),
  message: z.string(),
  url: z.url(),
  elicitationId: z.never().optional(),
});

const elicit = z.looseObject({
  method: z.literal('elicitation/create'),
  params: z.union([ElicitRequestFormParamsSchema, openUrl]),
});

/** By their keys. */
export const inputRequests = z.record(
  z.string(),
  z.union([elicit, CreateMessageRequestSchema, ListRootsRequestSchema]),
);
