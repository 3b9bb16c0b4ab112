/**
 * Schemas of the tasks extension, which no package publishes: from `schema/draft/schema.ts` of
 * modelcontextprotocol/ext-tasks.
 */
import { z } from 'zod';
import { inputRequests } from './input-request-schemas.ts';

const task = {
  taskId: z.string().min(1),
  statusMessage: z.string().optional(),
  createdAt: z.iso.datetime(),
  lastUpdatedAt: z.iso.datetime(),
  ttlMs: z.int().min(0).nullable(),
  pollIntervalMs: z.int().min(0).optional(),
};

const none = z.never().optional();

const detailedTask = z.discriminatedUnion('status', [
  z.looseObject({ ...task, status: z.literal('working') }),
  z.looseObject({ ...task, status: z.literal('input_required'), inputRequests }),
  z.looseObject({
    ...{ ...task, status: z.literal('completed') },
    ...{ result: z.looseObject({}), error: none },
  }),
  z.looseObject({
    ...{ ...task, status: z.literal('failed'), result: none },
    error: z.looseObject({ code: z.int(), message: z.string() }),
  }),
  z.looseObject({ ...task, status: z.literal('cancelled') }),
]);

/** The result of a call that became a task. */
export const createdTask = z.looseObject({
  ...task,
  resultType: z.literal('task'),
  status: z.enum(['working', 'input_required', 'completed', 'failed', 'cancelled']),
});

/** Results by method. */
export const taskResults = {
  'tasks/get': [detailedTask],
  'tasks/update': [],
  'tasks/cancel': [],
} satisfies { readonly [method: string]: readonly z.ZodType[] };

export const taskNotification = z.looseObject({ params: detailedTask });
