import { createHash } from 'node:crypto';

/** A Lua script: what has to be done in one go. */
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
