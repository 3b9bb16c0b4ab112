/** What every tool takes and gives about the root that it works in. */
import { printableLines } from '../../protocol/printable.ts';
import type { Entered } from '../project/workspace.ts';

/** The optional `root` of a tool's input. */
export const rootParameter = {
  type: 'string',
  description:
    'Which root to work in, by name, URI or path, if there are several (workspace_info lists them). The first usable root by default.',
} as const;

/** The `root` of a tool's output. */
export const rootResult = {
  type: 'object',
  description: 'The root that was used, and where it came from.',
  properties: {
    path: { type: 'string', description: 'Its real path.' },
    name: { type: 'string' },
    source: {
      type: 'string',
      enum: ['argument', 'roots', 'env', 'cwd'],
      description:
        "The command line, the client's roots, MCP_PROJECT_PATH, or the server's working directory.",
    },
  },
  required: ['path', 'name', 'source'],
  additionalProperties: false,
} as const;

/** The output's `root`. */
export function rootUsed({ root }: Entered) {
  const { path, name, source } = root;
  return { path, name, source };
}

/**
 * A tool's text: its lines, each {@link printableLines printable}, and at the end the note that the
 * root rests on a fallback, in the first result of a session that has one.
 */
export function withNote(lines: readonly string[], entered: Entered): string {
  const note = entered.takeNote();
  return printableLines([...lines, ...(note === undefined ? [] : ['', note])]);
}
