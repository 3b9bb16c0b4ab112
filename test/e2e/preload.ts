/** Code that runs in a server's process before the server: the accidents that a handler or a dependency may cause. */

/** Node's arguments for a module to run first. */
export function preload(code: string): readonly string[] {
  return ['--import', `data:text/javascript,${encodeURIComponent(code)}`];
}

/** What makes an accident happen. Signals that mean something to the server would make it do that as well. */
export const accident = 'SIGWINCH';

/** The same, run when the process gets that signal. */
export function onSignal(code: string): readonly string[] {
  return preload(`process.on('${accident}', () => { ${code} });`);
}
