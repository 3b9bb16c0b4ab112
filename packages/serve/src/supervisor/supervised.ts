/** Environment variable that tells a server process that a supervisor holds its host's pipe. */

/** Set in the environment of a supervised process. */
export const supervisedVariable = 'MCP_ACTORS_SUPERVISED';

let isSet: boolean | undefined;

/** True in a supervised process. The first call takes the variable away: what the server starts is not supervised. */
export function isSupervised(): boolean {
  if (isSet === undefined) {
    isSet = process.env[supervisedVariable] === '1';
    delete process.env[supervisedVariable];
  }
  return isSet;
}
