/**
 * Tools of the official SDKs' servers, which differ in the form of schemas and handler arguments.
 */
import {
  askAll,
  numberOfRoots,
  numberOfSample,
  patienceMs,
  sampling,
  textResult,
} from './asking.mjs';
import { listChanged, logMessage } from './http-listening.mjs';

/** `relatedTo` and `signalOf` read handler arguments; `sessions` has a server per session. */
export function registerTools(server, { shapeOf, schemas: z, sessions, relatedTo, signalOf }) {
  const optionsOf = (extra) => ({
    timeout: patienceMs,
    signal: signalOf(extra),
    ...relatedTo(extra),
  });
  server.registerTool(
    'echo',
    { description: 'Gives the text back.', inputSchema: shapeOf({ text: z.string() }) },
    async ({ text }) => textResult(text),
  );
  server.registerTool(
    'roots',
    {
      description: 'Asks the client for its roots so many times.',
      inputSchema: shapeOf({ count: z.int().min(0), concurrent: z.boolean() }),
    },
    async ({ count, concurrent }, extra) =>
      textResult(
        await askAll(count, concurrent, async () =>
          numberOfRoots(await server.server.listRoots(undefined, optionsOf(extra))),
        ),
      ),
  );
  server.registerTool(
    'sample',
    {
      description: 'Asks the client for a message so many times, one after the other.',
      inputSchema: shapeOf({ count: z.int().min(0) }),
    },
    async ({ count }, extra) =>
      textResult(
        await askAll(count, false, async () =>
          numberOfSample(await server.server.createMessage(sampling, optionsOf(extra))),
        ),
      ),
  );
  server.registerTool(
    'notify',
    {
      description: 'Notifies every session that has an open stream so many times.',
      inputSchema: shapeOf({ count: z.int().min(0), bytes: z.int().min(0).optional() }),
    },
    async ({ count, bytes }) => {
      const { method, params } = bytes === undefined ? listChanged : logMessage(bytes);
      // Sessions without an open stream drop them.
      for (const { server: other } of sessions.values()) {
        for (let sent = 0; sent < count; sent++) {
          await other.server.notification({ method, params });
        }
      }
      return textResult('done');
    },
  );
}
