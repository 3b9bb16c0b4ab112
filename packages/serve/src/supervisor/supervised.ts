/** Detection of a supervisor, by a variable in the environment of the server process. */

/** Tells a server process that a supervisor holds its host's pipe. */
export const supervisedVariable = 'MCP_ACTORS_SUPERVISED';

let isSet: boolean | undefined;

/** True in a supervised process. The first call deletes the variable, so that child processes of the server do not inherit it. */
export function isSupervised(): boolean {
  if (isSet === undefined) {
    isSet = process.env[supervisedVariable] === '1';
    delete process.env[supervisedVariable];
  }
  return isSet;
}
