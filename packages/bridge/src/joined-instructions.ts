/** Instructions of many servers, joined for one model. */

/** Maximum length of one server's instructions, characters. Longer ones are cut. */
const longestPart = 4000;
/** Maximum total length, characters. Instructions of later servers are omitted, and their servers named. */
const longest = 24_000;

/** Joins instructions under the names of their servers; undefined if there are none. */
export function joinedInstructions(
  parts: readonly (readonly [server: string, instructions: string | undefined])[],
): string | undefined {
  const joined: string[] = [];
  const leftOut: string[] = [];
  let length = 0;
  for (const [server, instructions] of parts) {
    if (instructions === undefined || instructions.trim() === '') continue;
    const isCut = instructions.length > longestPart;
    const text = isCut ? `${instructions.slice(0, longestPart)}… (cut)` : instructions;
    const part = `# ${server}\n\n${text}`;
    if (length + part.length > longest) leftOut.push(server);
    else {
      joined.push(part);
      length += part.length;
    }
  }
  if (leftOut.length > 0) joined.push(`(The instructions of ${leftOut.join(', ')} are left out.)`);
  return joined.length > 0 ? joined.join('\n\n') : undefined;
}
