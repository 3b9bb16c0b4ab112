/** `fastmcp`, built on the official SDK. */
import { FastMCP } from 'fastmcp';
import { z } from 'zod';
import {
  askAll,
  filling,
  numberOfRoots,
  numberOfSample,
  patienceMs,
  sampling,
  textResult,
} from './asking.mjs';

const server = new FastMCP({
  name: 'fastmcp',
  version: '0.0.0',
});

/** The only session of a stdio server. It is announced some time after the client's first calls. */
const connected = new Promise((resolve) => {
  server.once('connect', ({ session }) => resolve(session));
});

server.addTool({
  name: 'echo',
  description: 'Gives the text back.',
  parameters: z.object({ text: z.string() }),
  execute: async ({ text }) => textResult(text),
});
server.addTool({
  name: 'fill',
  description: 'Gives a text of so many bytes.',
  parameters: z.object({ bytes: z.int().min(0) }),
  execute: async ({ bytes }) => textResult(filling(bytes)),
});
server.addTool({
  name: 'roots',
  description: 'Asks the client for its roots so many times.',
  parameters: z.object({ count: z.int().min(0), concurrent: z.boolean() }),
  execute: async ({ count, concurrent }, { signal }) => {
    const session = await connected;
    return textResult(
      await askAll(count, concurrent, async () =>
        numberOfRoots(await session.server.listRoots(undefined, { timeout: patienceMs, signal })),
      ),
    );
  },
});
server.addTool({
  name: 'sample',
  description: 'Asks the client for a message so many times, one after the other.',
  parameters: z.object({ count: z.int().min(0) }),
  execute: async ({ count }, { signal }) => {
    const session = await connected;
    return textResult(
      await askAll(count, false, async () =>
        numberOfSample(await session.requestSampling(sampling, { timeout: patienceMs, signal })),
      ),
    );
  },
});

await server.start({ transportType: 'stdio' });
