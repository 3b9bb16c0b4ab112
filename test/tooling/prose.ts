/** Turns of phrase that no native engineer writes, and a reader of the sentences in comments and pages. */
import { parseSync } from 'oxc-parser';

/** Each with what to write instead. Add a turn if it comes up twice. */
const turns: readonly { readonly turn: RegExp; readonly instead: string }[] = [
  {
    // "There is none" is good English.
    turn: /(?<!\b(?:there|which|if any) )\b(?:is|are|was|were|be|as) none\b/i,
    instead: 'is not a …; has no …',
  },
  { turn: /(?<!\bthere )\b(?:is|are) no (?!longer\b|more\b|less\b)\w/i, instead: 'is not a …' },
  { turn: /\b(?:if it is|it is|is|are) one's\b/i, instead: 'belongs to …' },
  { turn: /\bwhoever\b/i, instead: 'who; the caller; anyone who' },
  {
    // The owner stands alone: what is owned comes before it, or is left to be guessed.
    turn: /(?<!\b(?:one|all|both|each|some|any|none) )\bof (?:(?:the|a|an|its|our|this|that|another|each|every|some|one) )?(?:[\w-]+ )?[a-z]+'s(?=$|[.,;:)]| (?:is|are|was|were|has|have|had|that|which|who|and|or|but|if|in|at|to|by|with|as|for|from|on|may|can|must|will|would|does|do|than|until|while|when|where|before|after|comes?|goes|stands?|ends?|begins?|runs?|needs?)\b)/i,
    instead: "the host's …; from the host",
  },
  {
    turn: /(?<!\b(?:one|all|both|each|some|any) )\bof (?:ours|mine|theirs|yours|hers)\b/i,
    instead: 'our …; their …',
  },
  { turn: /\bnobody (?:has|is|was|can|shall|may|will|would|does)\b/i, instead: 'no one …; un…ed' },
  { turn: /\bwhat it was(?=$|[.,;:)]| (?:when|before|is)\b)/i, instead: 'the former …; unchanged' },
  { turn: /\bno longer than so long\b/i, instead: 'for at most …' },
  { turn: /\bno business\b/i, instead: 'does not concern …' },
  { turn: /\bany more\b/i, instead: 'no longer' },
  { turn: /\bbe it\b/i, instead: 'whether … or …; even if' },
  {
    turn: /\b(?:for|in|within|after|at most) so long(?=$|[.,;:)]| (?:before|gives|without)\b)/i,
    instead: 'for this time; until then',
  },
  {
    // "Where" is a place: "the file where there is a break" has no comma.
    turn: /(?:^|, )where (?:there (?:is|are|was|were)|that is not|it has|none (?:is|are|may)|the client (?:can|brings))\b/i,
    instead: 'if',
  },
  {
    // "What stands between the two", "as things stand" and "stands for" are good English.
    turn: /\bstands? (?:behind|before|there|in front of)\b|\bwherever (?:it|they) stands?\b/i,
    instead: 'is …; comes before …',
  },
];

/** A turn where it stands. */
export interface ForeignTurn {
  readonly line: number;
  readonly sentence: string;
  readonly instead: string;
}

interface Passage {
  readonly line: number;
  readonly text: string;
}

const lineAt = (source: string, offset: number): number =>
  source.slice(0, offset).split('\n').length;

/** Comments; those of whole lines that follow each other are one. */
function commentsIn(file: string, source: string): readonly Passage[] {
  const passages: { line: number; end: number; text: string }[] = [];
  for (const { type, value, start } of parseSync(file, source).comments) {
    const line = lineAt(source, start);
    const last = passages.at(-1);
    const text = value.replaceAll(/\s*\n\s*\*? ?/g, ' ');
    if (type === 'Line' && last?.end === line - 1)
      Object.assign(last, { text: `${last.text} ${text}`, end: line });
    else passages.push({ line, end: type === 'Line' ? line : -1, text: text.replace(/^\*/, '') });
  }
  return passages;
}

/** Paragraphs, items and rows of a table, without blocks of code and comments. */
function paragraphsIn(source: string): readonly Passage[] {
  const prose = source.replaceAll(/^( *)```[^]*?^\1```|<!--[^]*?-->/gm, (block) =>
    block.replaceAll(/[^\n]/g, ''),
  );
  const found: { line: number; text: string }[] = [];
  let isOpen = false;
  for (const [index, text] of prose.split('\n').entries()) {
    const last = found.at(-1);
    const begins = /^\s*(?:[-*|#>]|\d+\.)/.test(text);
    if (text.trim() === '') isOpen = false;
    else if (isOpen && !begins && last) last.text += ` ${text.trim()}`;
    else {
      found.push({ line: index + 1, text: text.trim() });
      isOpen = true;
    }
  }
  return found;
}

/** @param file its ending decides whether comments or paragraphs are read */
export function foreignTurnsIn(file: string, source: string): readonly ForeignTurn[] {
  const passages = file.endsWith('.md') ? paragraphsIn(source) : commentsIn(file, source);
  return passages.flatMap(({ line, text }) =>
    text
      .trim()
      .split(/(?<=[.!?])\s+/)
      .flatMap((sentence) => {
        // What is quoted as code or named by a link is not prose.
        const prose = sentence.replaceAll(/`[^`]*`/g, 'code').replaceAll(/\]\([^)]*\)/g, ']');
        return turns
          .filter(({ turn }) => turn.test(prose))
          .map(({ instead }) => ({ line, sentence, instead }));
      }),
  );
}
