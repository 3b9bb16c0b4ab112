/** A stream of lines that can be awaited, including earlier ones. */

interface Waiting<T> {
  readonly matches: (line: T) => boolean;
  readonly resolve: (line: T) => void;
  readonly reject: (error: Error) => void;
}

export class LineStream<T> {
  readonly all: T[] = [];
  readonly #kind: string;
  readonly #waiting = new Set<Waiting<T>>();
  #end: string | undefined;

  /** @param kind description of a line, for messages */
  constructor(kind: string) {
    this.#kind = kind;
  }

  push(line: T): void {
    this.all.push(line);
    for (const waiting of this.#waiting) {
      if (!waiting.matches(line)) continue;
      this.#waiting.delete(waiting);
      waiting.resolve(line);
    }
  }

  /** Ends the stream: pending waits fail. */
  end(why: string): void {
    this.#end = why;
    for (const { reject } of this.#waiting) reject(this.#missing());
    this.#waiting.clear();
  }

  /** The first line that matches. */
  find(matches: (line: T) => boolean): Promise<T> {
    const found = this.all.find(matches);
    if (found !== undefined) return Promise.resolve(found);
    if (this.#end !== undefined) return Promise.reject(this.#missing());
    return new Promise((resolve, reject) => this.#waiting.add({ matches, resolve, reject }));
  }

  #missing(): Error {
    const last = this.all.slice(-5).map((line) => JSON.stringify(line));
    return new Error(
      `No such ${this.#kind} came: ${this.#end}. The last ones:\n${last.join('\n')}`,
    );
  }
}

/** Splits a stream at line feeds only. */
export function eachLine(stream: NodeJS.ReadableStream, take: (line: string) => void): void {
  let rest = '';
  stream.setEncoding('utf8');
  stream.on('data', (text: string) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop() as string;
    for (const line of lines) take(line);
  });
  stream.on('end', () => {
    if (rest !== '') take(rest);
  });
}
