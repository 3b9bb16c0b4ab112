import { createHash } from 'node:crypto';

/**
 * A Lua script: what has to be done in one go.
 *
 * If Redis has no room, it refuses a script at its first write if that needs room, and lets it go on
 * if an earlier write needed none. So what must not be done halfway begins with the write that needs
 * room, and signs of life and removals begin with one that needs none, such as `PEXPIRE`.
 */
export interface Script {
  readonly text: string;
  readonly digest: string;
}

/** Time in Lua is the server's, in milliseconds: the clocks of nodes differ. */
const now = `
local function now()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end
`;

/** A script that may ask for the time with `now()`. */
export function script(body: string): Script {
  const text = now + body;
  return { text, digest: createHash('sha1').update(text).digest('hex') };
}
