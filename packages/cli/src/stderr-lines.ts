/** What many servers write to stderr, on one: each line with its server, and only so many of each. */
import { printable } from 'mcp-actors/internal';
import { withoutHidden } from './command.ts';

/** How many lines of one server are written in a second; the rest are counted. */
const maxLines = 20;
/** The longest line, characters. */
const longestLine = 2000;
/** How much may wait for the reader of stderr, bytes; what servers write past it is dropped. */
const maxUnreadBytes = 1024 ** 2;

interface Writing {
  /** The beginning of a line whose end has not come. */
  begun: string;
  written: number;
  leftOut: number;
  readonly timer: NodeJS.Timeout;
}

/** Writes to stderr what one server writes to its own, as it is. */
export function passOn(text: string): void {
  if (process.stderr.writableLength < maxUnreadBytes) process.stderr.write(withoutHidden(text));
}

/** Takes what servers write, in pieces. */
export class StderrLines {
  readonly #write: (text: string) => void;
  readonly #servers = new Map<string, Writing>();

  constructor(write: (text: string) => void = passOn) {
    this.#write = write;
  }

  take(server: string, text: string): void {
    const writing = this.#servers.get(server) ?? this.#begin(server);
    const lines = `${writing.begun}${text}`.split('\n');
    writing.begun = (lines.pop() ?? '').slice(0, longestLine);
    for (const line of lines) {
      if (writing.written >= maxLines) writing.leftOut++;
      else {
        writing.written++;
        this.#write(`[${printable(server)}] ${printable(line.trimEnd(), longestLine)}\n`);
      }
    }
  }

  #begin(server: string): Writing {
    const timer = setTimeout(() => this.#next(server), 1000).unref();
    const writing: Writing = { begun: '', written: 0, leftOut: 0, timer };
    this.#servers.set(server, writing);
    return writing;
  }

  /** A second is over. A line that has begun and not ended belongs to the next one. */
  #next(server: string): void {
    const writing = this.#servers.get(server);
    this.#servers.delete(server);
    if (!writing) return;
    const { begun, leftOut } = writing;
    if (leftOut > 0) this.#write(`[${printable(server)}] … ${leftOut} more lines in this second\n`);
    if (begun !== '') this.#begin(server).begun = begun;
  }
}
