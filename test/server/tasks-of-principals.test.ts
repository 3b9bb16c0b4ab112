/** Clients of 2026-07-28 share a session over HTTP: what is one principal's is not another's. */
import { expect, onTestFinished, test } from 'vitest';
import type {
  ReaderEvent,
  ReaderInput,
  RouterEvent,
  WriterEvent,
  WriterInput,
} from '../../src/machines/peer-ports.ts';
import { plainActor } from '../../src/machines/port.ts';
import type { Port, Ref } from '../../src/machines/port.ts';
import { createMcpServer, defineTool } from '../../src/index.ts';
import type { McpServer } from '../../src/index.ts';
import type { JsonObject, OutboundFrame } from '../../src/protocol/frames.ts';
import type { RequestOrigin } from '../../src/protocol/request-origin.ts';
import { gate } from '../../src/testing/index.ts';
import { clientId } from '../actors/ids.ts';

const envelope = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {
    extensions: { 'io.modelcontextprotocol/tasks': {} },
  },
};

/** A session that answers each request by itself, as HTTP does: by its method, its params and its principal. */
function requestsTo(server: McpServer) {
  let router: Pick<Ref<RouterEvent>, 'send'> | undefined;
  const waiting = new Map<RequestOrigin, (frame: OutboundFrame) => void>();
  const reader: Port<ReaderEvent, ReaderInput> = plainActor(({ input }) => {
    router = input.router;
    return { receive: () => {} };
  });
  const writer: Port<WriterEvent, WriterInput> = plainActor(({ input: { owner } }) => ({
    receive: (event) => {
      if (event.type === 'output.flush') owner.send({ type: 'output.flushed' });
      if (event.type !== 'frames.send' || !event.relatedTo?.origin) return;
      for (const frame of event.frames) waiting.get(event.relatedTo.origin)?.(frame);
    },
  }));
  const session = server.listen(() => ({ reader, writer }));
  onTestFinished(() => session.closed.then(() => {}));
  onTestFinished(() => session.shutdown('the test is over'));
  return (as: string | undefined, method: string, params: JsonObject) => {
    const principal =
      as === undefined ? undefined : { id: as, subject: as, scopes: [], claims: {} };
    const origin: RequestOrigin = { idScope: 'request', principal };
    const said = new Promise<OutboundFrame>((resolve) => waiting.set(origin, resolve));
    const request = { kind: 'request', id: clientId(1), method, origin } as const;
    const frame = { ...request, params: { ...params, _meta: envelope } };
    router?.send({ type: 'frames.received', frames: [frame] });
    return said;
  };
}

test('a task is there for its principal alone, and so is what is told of it', async () => {
  const work = gate();
  const job = defineTool({
    name: 'job',
    description: 'Works',
    taskSupport: 'required',
    handler: async (_, { signal }) => {
      await work.pass(signal);
      return 'done';
    },
  });
  const request = requestsTo(createMcpServer({ name: 's', version: '1', tools: [job] }));
  const created = await request('ada', 'tools/call', { name: 'job' });
  const { taskId } = (created as { readonly result: { readonly taskId: string } }).result;
  await work.arrived();

  for (const other of ['eve', undefined]) {
    for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel']) {
      const given = await request(other, method, { taskId, inputResponses: {} });
      expect(given).toHaveProperty('error.code', -32602);
      expect(given).toHaveProperty('error.message', expect.stringContaining('Task not found'));
    }
  }
  expect(await request('ada', 'tasks/get', { taskId })).toHaveProperty('result.status', 'working');

  const notifications = { taskIds: [taskId] };
  const heard = async (as: string) =>
    JSON.stringify(await request(as, 'subscriptions/listen', { notifications }));
  expect(await heard('ada')).toContain(taskId);
  expect(await heard('eve')).not.toContain(taskId);
  work.release();
});
