/** Output of the demo: headings, actions of both sides, and state changes of the session. */

export interface Story {
  /** Begins a part. */
  part(title: string): void;
  /** Prints an action of one side. */
  tell(who: 'client' | 'server', what: string): void;
  /** Prints a state the session has entered. */
  change(what: string): void;
  /** Prints the first lines of an answer. */
  quote(text: string, maxLines?: number): void;
}

const maxWidth = 110;

/** Creates a story that prints to a stream, in colour on a terminal. */
export function createStory(output: NodeJS.WriteStream): Story {
  const isColoured = output.isTTY && process.env['NO_COLOR'] === undefined;
  const styled = (code: number, text: string) =>
    isColoured ? `\u001b[${code}m${text}\u001b[0m` : text;
  const line = (text: string) => output.write(`${text}\n`);
  let parts = 0;
  return {
    part(title) {
      parts += 1;
      line('');
      line(styled(1, `${parts}. ${title}`));
    },
    tell: (who, what) => line(`   ${styled(who === 'client' ? 36 : 32, who)}   ${what}`),
    change: (what) => line(styled(33, `            ${what}`)),
    quote(text, maxLines = 12) {
      const lines = text.trimEnd().split('\n');
      for (const shown of lines.slice(0, maxLines)) {
        const cut = shown.length > maxWidth ? `${shown.slice(0, maxWidth)}…` : shown;
        line(styled(2, `      | ${cut}`.trimEnd()));
      }
      if (lines.length > maxLines)
        line(styled(2, `      | … ${lines.length - maxLines} more lines`));
    },
  };
}
