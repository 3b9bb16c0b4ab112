/** The ids of tasks, which name their process, and of recorded calls. */

const form = /^[0-9a-f]{8}\.[0-9a-f-]{36}$/;

let start: string | undefined;

/** Made when first needed: for it Node loads crypto. */
function startOfProcess(): string {
  return (start ??= crypto.randomUUID().slice(0, 8));
}

/** A new id. 122 random bits of the platform's secure source: a client that knows the id can see the task. */
export function newTaskId(): string {
  return `${startOfProcess()}.${crypto.randomUUID()}`;
}

/** The prefix of ids of durable calls; clients find tasks by theirs alone. */
const callPrefix = 'call.';

/** The id under which an ordinary call is recorded. */
export function callRecordId(callId: string): string {
  return `${callPrefix}${callId}`;
}

/** The id of the call that a record is of. */
export function callIdOf(taskId: string): string {
  return taskId.slice(callPrefix.length);
}

/** True for the record of an ordinary call. */
export function isCallRecord(taskId: string): boolean {
  return taskId.startsWith(callPrefix);
}

/** True if another process has made this id, or this one before it was started again. */
export function isOfAnotherProcess(taskId: string): boolean {
  return form.test(taskId) && !taskId.startsWith(`${startOfProcess()}.`);
}
