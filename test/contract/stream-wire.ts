/** The stdio transport over a pair of streams in this process, and the client's end of it. */
import { PassThrough } from 'node:stream';
import { stdio } from 'mcp-actors';
import type { MemoryPeer } from 'mcp-actors';
import type { Connection, Wire } from 'mcp-actors/testing';

/** What both transports' ends can do: the peer of `memory()` has it too. */
export type TestWire = Wire &
  Pick<MemoryPeer, 'stopReading' | 'resumeReading' | 'breakOutput' | 'paused'>;

export function streams(): Connection<TestWire> {
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
    transport: stdio({ input, output }),
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
