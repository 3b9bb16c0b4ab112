/** Shared tool code of the servers, so that they differ only in their runtime. */

/** Timeout of a request to the client: longer than any measure. */
export const patienceMs = 300_000;

/** Line limit configured for servers that have one: above the largest echo. */
export const longestLineBytes = 64 * 1024 * 1024;

/** Parameters of `sample`. */
export const sampling = {
  messages: [{ role: 'user', content: { type: 'text', text: 'Say something.' } }],
  maxTokens: 16,
};

/**
 * Sends this many requests, sequentially or all at once, and weighs the numbers in the responses by
 * the order of sending: the sum is right only if every response reached its request.
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

/** The number in a `roots/list` result. */
export function numberOfRoots(result) {
  return Number(result.roots[0].name);
}

/** The number in a `sampling/createMessage` result. */
export function numberOfSample(result) {
  return Number(result.content.text);
}

/** A tool result with one text. */
export function textResult(text) {
  return { content: [{ type: 'text', text }] };
}

/** Result of the tool `fill`. */
export function filling(bytes) {
  return 'x'.repeat(bytes);
}
