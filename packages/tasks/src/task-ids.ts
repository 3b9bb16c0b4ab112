/** The ids of tasks: they say in which process they were made. */

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

/** True if another process has made this id, or this one before it was started again. */
export function isOfAnotherProcess(taskId: string): boolean {
  return form.test(taskId) && !taskId.startsWith(`${startOfProcess()}.`);
}
