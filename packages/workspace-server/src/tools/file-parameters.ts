/** What the tools that look at many files take, and how they say what they have found. */
import { printableLines } from 'mcp-actors/internal';
import { content } from 'mcp-actors';
import type { ToolResult } from 'mcp-actors';
import type { Entered } from '../project/workspace.ts';

/** A text, or a list of them: models write both. */
function textOrTexts(description: string, maxItems: number) {
  const text = { type: 'string', minLength: 1, maxLength: 1000 } as const;
  const texts = { type: 'array', items: text, maxItems } as const;
  return { anyOf: [text, texts], description } as const;
}

/** The parameters that choose files. */
export const fileParameters = {
  globs: textOrTexts(
    'Which files, one glob or several: "*.ts" at any depth, "src/**/*.ts" from the root, "docs" with all below it, "!*.test.ts" excludes. A path that a glob begins with is looked at even if it is hidden or ignored. All files by default.',
    64,
  ),
  type: textOrTexts(
    'Only files of this type, or of one of these: "ts", "py", "rust", "md", … as ripgrep names them.',
    16,
  ),
  hidden: {
    type: 'boolean',
    description: 'Also files and directories that begin with a dot (never .git).',
  },
  ignored: {
    type: 'boolean',
    description: 'Also what .gitignore and the like exclude, such as node_modules.',
  },
  cursor: {
    type: 'string',
    description: 'For what comes behind an answer: the cursor that it gives; the rest as before.',
  },
} as const;

/** The value of a parameter that takes one text or several. */
export function listOf(value: unknown): readonly string[] {
  const values: readonly unknown[] = Array.isArray(value) ? value : [value];
  return values.filter((text) => typeof text === 'string');
}

export function clamp(value: number, least: number, most: number): number {
  return Math.min(Math.max(least, Math.trunc(value)), most);
}

/** How to go on, as a sentence. */
export function goOn(what: string, cursor: string): string {
  return `${what}: call again with the same arguments and cursor "${cursor}".`;
}

/**
 * An answer: what it has and how to go on, and the lines below, after an empty one. Hosts cut long
 * results at their ends.
 */
export function answer(
  entered: Entered,
  heading: readonly string[],
  lines: readonly string[],
): ToolResult {
  const note = entered.takeNote();
  const above = [...heading, ...(note === undefined ? [] : [note])];
  const text = printableLines(lines.length === 0 ? above : [...above, '', ...lines]);
  return { content: [content.text(text)] };
}

/** A number with its noun. */
export function counted(count: number, noun: string, plural = `${noun}s`): string {
  return `${count.toLocaleString('en')} ${count === 1 ? noun : plural}`;
}
