/** What a tool sees of its session, with everything that it did to it kept. */
import { expect } from 'vitest';
import type { Root, RootsReport } from '../../../src/protocol/roots.ts';
import { ToolError } from '../../../src/protocol/errors.ts';
import { latestHandshake } from '../../../src/protocol/dialects/registry.ts';
import type { Tool } from '../../../src/server/define/tool.ts';
import { logLevels } from '../../../src/protocol/log-levels.ts';
import type { HandlerLog } from '../../../src/server/context/session-log.ts';
import type { HandlerContext } from '../../../src/server/context/handler-context.ts';
import type { ContentBlock } from '../../../src/protocol/content.ts';
import type { ToolResult } from '../../../src/server/define/tool.ts';

/** A settled report of roots that are resolved already. */
export function reportOf(roots: readonly Root[], rest: Partial<RootsReport> = {}): RootsReport {
  return { status: 'known', generation: 1, settled: true, roots, ...rest };
}

/** The report of a client without the capability. */
export const undeclared: RootsReport = {
  status: 'undeclared',
  generation: 1,
  settled: true,
  roots: [],
};

export interface FakeContext extends HandlerContext {
  readonly reported: { readonly progress: number; readonly message?: string }[];
}

async function nothingElse(): Promise<never> {
  throw new Error('The workspace asks the client for nothing but roots');
}

/** A context whose roots are `report`, and whose signal is `signal`. */
export function fakeContext(
  report: RootsReport = undeclared,
  signal: AbortSignal = new AbortController().signal,
): FakeContext {
  const reported: FakeContext['reported'] = [];
  return {
    requestId: 1,
    signal,
    reported,
    client: {
      dialect: latestHandshake,
      requestedVersion: latestHandshake.version,
      info: { name: 'test', version: '0' },
      capabilities: {},
    },
    supportsApps: false,
    roots: async () => report,
    once: async (_, make) => make({}),
    sleep: async () => {},
    exchangeToken: nothingElse,
    checkpoint: undefined,
    progress: (progress, details) => void reported.push({ progress, ...details }),
    session: {
      id: 'fake',
      revision: latestHandshake.version,
      state: 'rootsKnown',
      notify: () => false,
      resourceUpdated: () => {},
      elicitationCompleted: () => false,
      enable: () => {},
      disable: () => {},
    },
    log: Object.fromEntries(logLevels.map((level) => [level, () => {}])) as unknown as HandlerLog,
    notify: () => false,
    sample: nothingElse,
    elicit: nothingElse,
    elicitUrl: nothingElse,
    urlElicitationRequired: () => {
      throw new Error('The workspace asks the client for nothing but roots');
    },
    request: nothingElse,
  };
}

/** Calls a tool and gives its structured result and its text. */
export async function callTool<TStructured = Record<string, unknown>>(
  tool: Tool,
  args: object,
  context: HandlerContext,
): Promise<{ readonly structured: TStructured; readonly text: string }> {
  const output = await tool.handler(args as never, context);
  const given = output as readonly ContentBlock[] | ToolResult;
  const { structured, content } = isBlocks(given) ? { content: given } : given;
  const text = (content ?? []).map((block) => (block.type === 'text' ? block.text : '')).join('\n');
  return { structured: structured as TStructured, text };
}

function isBlocks(output: readonly ContentBlock[] | ToolResult): output is readonly ContentBlock[] {
  return Array.isArray(output);
}

/** The `ToolError` that a promise rejects with. */
export async function toolError(promise: Promise<unknown>): Promise<ToolError> {
  const error: unknown = await promise.then(
    (value) => {
      throw new Error(`Expected a ToolError, got ${JSON.stringify(value)}`);
    },
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(ToolError);
  return error as ToolError;
}
