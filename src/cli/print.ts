/** Text for a person, or for the next program of a pipe. */

/** Resolves once the text is out, or nobody is there to read it. */
export function print(stream: NodeJS.WriteStream, text: string): Promise<void> {
  return new Promise((resolve) => {
    stream.once('error', () => resolve());
    stream.write(text, () => resolve());
  });
}
