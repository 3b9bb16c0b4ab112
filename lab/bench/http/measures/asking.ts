/**
 * Requests of the server to the client on the stream of their POST, all at once, each answered with
 * a POST of its own.
 */
import { call, isText } from '../../conversation.ts';
import { weightOf } from '../../measures/asking.ts';
import type { Connection } from '../connection.ts';
import type { HttpClient, Session } from '../http-client.ts';
import { Responder } from '../responder.ts';
import type { HttpMeasure } from './measure.ts';

export const asking: HttpMeasure = {
  name: 'asking',
  metrics: [
    {
      key: 'roots.cpu',
      title: "roots/list concurrent, on a POST's stream, CPU",
      unit: 'µs',
      isRatio: true,
      atMost: 1.3,
    },
    {
      key: 'roots.rate',
      title: "roots/list concurrent, on a POST's stream, rate",
      unit: 'msg/s',
      isRatio: false,
    },
  ],
  run: ({ launch, sizes: { asked, askingCalls, lanes } }) =>
    launch(async (client) => {
      const control = await client.connect();
      const session = await client.greet(control);
      const connections = await client.connections(lanes);
      const asker = { client, connection: control };
      const answerer = { client, connections };
      for (let warm = 0; warm < Math.ceil(askingCalls / 2); warm++) {
        await ask(asker, answerer, session, asked);
      }
      const cpuBefore = client.cpuMs;
      const startedAt = performance.now();
      for (let done = 0; done < askingCalls; done++) await ask(asker, answerer, session, asked);
      const count = asked * askingCalls;
      return {
        'roots.cpu': ((client.cpuMs - cpuBefore) * 1000) / count,
        'roots.rate': (count * 1000) / (client.receivedAt - startedAt),
      };
    }),
};

/** Calls a tool that sends this many requests; the answers may go to another node. */
export async function ask(
  asker: { readonly client: HttpClient; readonly connection: Connection },
  answerer: { readonly client: HttpClient; readonly connections: readonly Connection[] },
  session: Session,
  count: number,
): Promise<void> {
  const responder = new Responder(answerer.client, session, count, answerer.connections);
  const check = isText(weightOf(count));
  await new Promise<void>((resolve) => {
    asker.client.ask(asker.connection, session, call('roots', { count, concurrent: true }), {
      onOther: responder.take,
      onChunkEnd: responder.answer,
      settle: (result) => {
        const fault = check(result);
        if (fault === undefined) resolve();
        else asker.client.fail(`roots was answered wrongly: ${fault}`);
      },
    });
  });
  await responder.done;
}
