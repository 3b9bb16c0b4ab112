/**
 * Actors of a followed task: poll, answer input requests, fetch the result, cancel. The machine
 * decides when.
 *
 * @see MCP 2025-11-25, basic/utilities/tasks
 * @see the extension io.modelcontextprotocol/tasks
 */
import { fromPromise } from 'xstate';
import type { PromiseActorLogic } from 'xstate';
import { openQuestions } from './followed-task.machine.ts';
import type { FollowedTaskContext, TaskAnswered } from './followed-task.machine.ts';
import { RuntimeError, fromWireError } from '../../../../src/protocol/errors.ts';
import type { JsonObject, WireError } from '../../../../src/protocol/frames.ts';
import { readTaskReport } from '../../../../src/protocol/tasks.ts';
import type { TaskReport } from '../../../../src/protocol/tasks.ts';
import { askProviders } from '../asked/input-rounds.ts';
import type { RoundsHost } from '../asked/input-rounds.ts';
import type { Requests } from './requests.ts';
import { maxDelayMs } from '../../../../src/actors/clock.ts';

/** Server that runs the tasks, and the providers that answer its input requests. */
export interface AskedServer {
  readonly requests: Pick<Requests, 'request'>;
  readonly rounds: Pick<RoundsHost, 'answers' | 'places' | 'maxRounds'>;
}

export function followedTaskActors(serverOf: (context: FollowedTaskContext) => AskedServer) {
  const actor = <T>(
    run: (server: AskedServer, context: FollowedTaskContext, signal: AbortSignal) => Promise<T>,
  ): PromiseActorLogic<T, FollowedTaskContext> =>
    fromPromise(({ input, signal }) => run(serverOf(input), input, signal));
  return {
    look: actor(look),
    answer: actor(answer),
    collect: actor(collect),
    cancel: actor(cancel),
  };
}

async function look(
  { requests }: AskedServer,
  { task: { taskId } }: FollowedTaskContext,
  signal: AbortSignal,
): Promise<TaskReport> {
  return readTaskReport(await requests.request('tasks/get', { taskId }, { signal }));
}

async function answer(
  { requests, rounds }: AskedServer,
  context: FollowedTaskContext,
  signal: AbortSignal,
): Promise<TaskAnswered> {
  const { taskId } = context.task;
  if (context.era === 'legacy') {
    // Input requests arrive as ordinary requests while `tasks/result` is pending.
    const times = { timeoutMs: maxDelayMs, maxTotalMs: maxDelayMs };
    const result = await requests.request('tasks/result', { taskId }, { signal, ...times });
    return { kind: 'result', result };
  }
  const open = openQuestions(context);
  const inputResponses = await askProviders(rounds, `The task ${taskId}`, open, signal);
  await requests.request('tasks/update', { taskId, inputResponses }, { signal });
  return { kind: 'answered', keys: Object.keys(open) };
}

async function collect(
  server: AskedServer,
  context: FollowedTaskContext,
  signal: AbortSignal,
): Promise<JsonObject> {
  const { era, task } = context;
  const { taskId } = task;
  if (era === 'legacy') return server.requests.request('tasks/result', { taskId }, { signal });
  const isWhole = task.result !== undefined || task.error !== undefined;
  const { result, error } = isWhole ? task : await look(server, context, signal);
  if (result) return result;
  if (error) throw fromWireError(error as unknown as WireError);
  const message = `The ended task ${taskId} must have a result or an error`;
  throw new RuntimeError('INVALID_RESPONSE', message);
}

async function cancel(
  { requests }: AskedServer,
  { task: { taskId } }: FollowedTaskContext,
): Promise<void> {
  await requests.request('tasks/cancel', { taskId }, { whenAway: 'refuse' });
}
