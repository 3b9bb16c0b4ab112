/** Schemas of input requests in results of 2026-07-28: of calls and of tasks. */
import {
  CreateMessageRequestSchema,
  ElicitRequestFormParamsSchema,
  ListRootsRequestSchema,
} from '@modelcontextprotocol/core';
import { z } from 'zod';

/** The package requires the id that URL elicitation had until 2025-11-25. */
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

/** Input requests by key. */
export const inputRequests = z.record(
  z.string(),
  z.union([elicit, CreateMessageRequestSchema, ListRootsRequestSchema]),
);
