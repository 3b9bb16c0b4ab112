/**
 * Resumes tasks whose process or session has ended, in a session without a client. Each task is restarted by an
 * internal request; its client reads the results from the store.
 */
import { plainActor } from '../machines/port.ts';
import type { Behaviour, Port, Recipient } from '../machines/port.ts';
import type {
  ReaderEvent,
  ReaderInput,
  RouterEvent,
  TransportFact,
  WriterEvent,
  WriterInput,
} from '../machines/peer-ports.ts';
import { withOrigin } from '../protocol/frames.ts';
import type { InboundRequestId } from '../protocol/frames.ts';
import type { RequestOrigin } from '../protocol/request-origin.ts';
import { validateResumption } from './define/machine-run.ts';
import type { TaskWorker } from '../../packages/tasks/src/task-worker.ts';
import type { ResumedTask, TaskResumer } from '../../packages/tasks/src/stored-task.ts';
import type { ListenOptions, McpServer } from './create-server.ts';
import type { McpSession } from './session.ts';

/** Placeholder for the router before the session starts. */
const noRouter = { send: (_event: RouterEvent): void => {} };

/** Resumes the tasks of one server. */
export class SessionlessTasks implements TaskResumer {
  readonly #server: McpServer;
  readonly #options: ListenOptions;
  #router: Recipient<RouterEvent> = noRouter;
  /** Session of the resumed tasks, started for the first one. */
  #session: McpSession | undefined = undefined;
  #nextId = 1;

  /** @param options options of the server's other sessions */
  constructor(server: McpServer, worker: TaskWorker, options: ListenOptions) {
    this.#server = server;
    this.#options = { ...options, durable: worker };
  }

  /** Session of the resumed tasks; undefined before the first. */
  get session(): McpSession | undefined {
    return this.#session;
  }

  resume(task: ResumedTask): string | undefined {
    const { params, size, party, principal } = task.call;
    const { name } = params;
    const tool = typeof name === 'string' ? this.#server.tools.get(name) : undefined;
    if (!tool) return `the server has no tool ${JSON.stringify(name)}`;
    const fault = validateResumption(tool, task.steps.checkpoint?.value);
    if (fault !== undefined) return fault;
    const origin: RequestOrigin = {
      idScope: 'request',
      resumes: task,
      clientKey: party,
      principal,
    };
    const id = this.#nextId++ as InboundRequestId & number;
    const request = { kind: 'request', id, method: 'tools/call', params, size } as const;
    this.#session ??= this.#begin();
    const frames = [withOrigin(request, origin)];
    this.#router.send({ type: 'frames.received', frames });
    return undefined;
  }

  async close(): Promise<void> {
    const session = this.#session;
    if (!session) return;
    session.shutdown('The process ends', 0);
    await session.closed;
  }

  #begin(): McpSession {
    const reader: Port<ReaderEvent, ReaderInput> = plainActor(({ input }) => {
      this.#router = input.router;
      return { receive: () => {} };
    });
    const writer: Port<WriterEvent, WriterInput> = plainActor(
      ({ input: { owner } }) => new DiscardingWriter(owner),
    );
    return this.#server.listen(() => ({ reader, writer }), this.#options);
  }
}

/** Writer of a session without a client. */
class DiscardingWriter implements Behaviour<WriterEvent> {
  readonly #owner: Recipient<TransportFact>;

  constructor(owner: Recipient<TransportFact>) {
    this.#owner = owner;
  }

  receive({ type }: WriterEvent): void {
    if (type === 'output.flush') this.#owner.send({ type: 'output.flushed' });
  }
}
