/** Parameters and result texts shared by the tools that search files. */
import { printableLines } from 'mcp-actors/internal';
import { content } from 'mcp-actors';
import type { ToolResult } from 'mcp-actors';
import type { EnteredRoot } from '../project/workspace.ts';

/** Schema of a string or a list of strings, because models write both. */
function stringOrList(description: string, maxItems: number) {
  const text = { type: 'string', minLength: 1, maxLength: 1000 } as const;
  const texts = { type: 'array', items: text, maxItems } as const;
  return { anyOf: [text, texts], description } as const;
}

/** Parameters that select files. */
export const fileParameters = {
  globs: stringOrList(
    'Files to select, as one glob or several: "*.ts" at any depth, "src/**/*.ts" from the root, "docs" with everything below it, "!*.test.ts" excludes. A path that a glob starts with is searched even if it is hidden or ignored. Default: all files.',
    64,
  ),
  type: stringOrList(
    'Only files of this type, or of one of these types: "ts", "py", "rust", "md", … as named by ripgrep.',
    16,
  ),
  hidden: {
    type: 'boolean',
    description: 'Include files and directories that start with a dot (never .git).',
  },
  ignored: {
    type: 'boolean',
    description: 'Include files excluded by .gitignore and similar, such as node_modules.',
  },
  cursor: {
    type: 'string',
    description:
      'Cursor from the previous result, to get the next page; repeat the other arguments unchanged.',
  },
} as const;

/** Value of a parameter that accepts one string or several. */
export function listOf(value: unknown): readonly string[] {
  const values: readonly unknown[] = Array.isArray(value) ? value : [value];
  return values.filter((text) => typeof text === 'string');
}

export function clamp(value: number, least: number, most: number): number {
  return Math.min(Math.max(least, Math.trunc(value)), most);
}

/** Sentence with the cursor of the next page. */
export function nextPageHint(what: string, cursor: string): string {
  return `${what}: call again with the same arguments and cursor "${cursor}".`;
}

/**
 * Builds a result: heading, how to continue, an empty line, then the lines. Continuation comes
 * first, because hosts truncate long results at the end.
 */
export function answer(
  entered: EnteredRoot,
  heading: readonly string[],
  lines: readonly string[],
): ToolResult {
  const note = entered.takeNote();
  const above = [...heading, ...(note === undefined ? [] : [note])];
  const text = printableLines(lines.length === 0 ? above : [...above, '', ...lines]);
  return { content: [content.text(text)] };
}

/** Formats a number with its noun. */
export function formatCount(count: number, noun: string, plural = `${noun}s`): string {
  return `${count.toLocaleString('en')} ${count === 1 ? noun : plural}`;
}
