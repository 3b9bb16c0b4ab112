/**
 * What the servers' tools have in common, so that they differ by their runtime and by nothing else.
 */

/** How long a request to the client may take: longer than any measure. */
export const patienceMs = 300_000;

/** The longest line that a server is told to take where it has a bound: above the largest echo. */
export const longestLineBytes = 64 * 1024 * 1024;

/** What `sample` asks for. */
export const sampling = {
  messages: [{ role: 'user', content: { type: 'text', text: 'Say something.' } }],
  maxTokens: 16,
};

/**
 * Asks so often, one after the other or all at once, and weighs the numbers that the answers carry by the order of asking:
 * the sum is right only where every answer has reached the request that it answers.
 */
export async function askAll(count, concurrent, ask) {
  const values = [];
  if (concurrent) {
    values.push(...(await allAtOnce(count, ask)));
  } else {
    while (values.length < count) values.push(await ask());
  }
  return String(values.reduce((sum, value, at) => sum + value * (at + 1), 0));
}

function allAtOnce(count, ask) {
  const asked = [];
  while (asked.length < count) asked.push(ask());
  return Promise.all(asked);
}

/** The number that an answer to `roots/list` carries. */
export function numberOfRoots(result) {
  return Number(result.roots[0].name);
}

/** The number that an answer to `sampling/createMessage` carries. */
export function numberOfSample(result) {
  return Number(result.content.text);
}

/** A tool result with one text. */
export function textResult(text) {
  return { content: [{ type: 'text', text }] };
}

/** What the tool `fill` answers with. */
export function filling(bytes) {
  return 'x'.repeat(bytes);
}
