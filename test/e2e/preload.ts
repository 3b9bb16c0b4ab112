/**
 * Code that runs in a server's process before the server: accidents that a handler or dependency
 * may cause.
 */

/** Node's arguments for a module to run first. */
export function preload(code: string): readonly string[] {
  return ['--import', `data:text/javascript,${encodeURIComponent(code)}`];
}

/** Triggers of an accident. Signals with a meaning for the server would trigger that too. */
export const accident = 'SIGWINCH';

/** The same, on that signal. */
export function onSignal(code: string): readonly string[] {
  return preload(`process.on('${accident}', () => { ${code} });`);
}
