/** Parser for the results of listing tools: heading and lines. */
export interface Answer {
  readonly heading: readonly string[];
  readonly lines: readonly string[];
  /** Cursor of the next page. */
  readonly cursor: string | undefined;
}

/** Parses a result like a model would read it. */
export function readAnswer(text: string): Answer {
  const [above = '', ...below] = text.split('\n\n');
  const body = below.join('\n\n');
  return {
    heading: above.split('\n'),
    lines: body === '' ? [] : body.split('\n'),
    cursor: / cursor "([^"]+)"/.exec(above)?.[1],
  };
}

export interface SearchAnswer extends Pick<Answer, 'heading' | 'cursor'> {
  readonly files: readonly {
    readonly path: string;
    readonly lines: readonly {
      readonly line: number;
      readonly text: string;
      readonly match: boolean;
    }[];
  }[];
  readonly matchingLines: number;
  /** Parts that were not searched. */
  readonly problems: readonly string[];
}

/** Parses a text search result in `lines` mode. */
export function readSearchAnswer(text: string): SearchAnswer {
  const { heading, lines, cursor } = readAnswer(text);
  const files: { path: string; lines: { line: number; text: string; match: boolean }[] }[] = [];
  for (const shown of lines) {
    const [, line, mark, content = ''] = /^(\d+)([:-]) ([^]*)$/.exec(shown) ?? [];
    if (line !== undefined) {
      files.at(-1)?.lines.push({ line: Number(line), text: content, match: mark === ':' });
    } else if (shown !== '' && shown !== '--') files.push({ path: shown, lines: [] });
  }
  const notSearched = 'Not searched: ';
  return {
    heading,
    cursor,
    files,
    matchingLines: files.flatMap((file) => file.lines).filter(({ match }) => match).length,
    problems: heading
      .filter((sentence) => sentence.startsWith(notSearched))
      .map((sentence) => sentence.slice(notSearched.length)),
  };
}
