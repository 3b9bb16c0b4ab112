/** Transports over a pair of streams in this process, and the client's end of them. */
import { PassThrough } from 'node:stream';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { fromSdkTransport, stdio } from 'mcp-actors';
import type { MemoryPeer, Transport } from 'mcp-actors';
import type { TransportPair } from '../../packages/testing/src/conversation.ts';
import type { Wire } from '../../packages/testing/src/peer.ts';

/** The interface of every transport's client end; the peer of `memory()` has it too. */
export type TestWire = Wire &
  Pick<MemoryPeer, 'stopReading' | 'resumeReading' | 'breakOutput' | 'paused'>;

/** Our own transport. */
export function streams(): TransportPair<TestWire> {
  return wireOf((input, output) => stdio({ input, output }));
}

/** The official SDK's transport for our session. It does not notice the end of its input. */
export function sdkStreams(): TransportPair<TestWire> {
  return wireOf((input, output) => fromSdkTransport(new StdioServerTransport(input, output)));
}

function wireOf(
  transportOf: (input: PassThrough, output: PassThrough) => Transport,
): TransportPair<TestWire> {
  const input = new PassThrough();
  const output = new PassThrough();
  const listeners: ((frame: unknown) => void)[] = [];
  let rest = '';
  output.setEncoding('utf8');
  output.on('data', (text: string) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) for (const listener of listeners) listener(JSON.parse(line));
  });
  return {
    transport: transportOf(input, output),
    peer: {
      sendRaw: (chunk) => {
        input.write(chunk);
      },
      received$: { subscribe: (listener) => listeners.push(listener) },
      end: () => input.end(),
      stopReading: () => output.pause(),
      resumeReading: () => output.resume(),
      breakOutput: (error) => output.destroy(error as Error),
      get paused() {
        return input.isPaused();
      },
    },
  };
}
