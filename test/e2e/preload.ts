/** Code that runs in a server's process before the server: the accidents that a handler or a dependency may cause. */

/** Node's arguments for a module to run first. */
export function preload(code: string): readonly string[] {
  return ['--import', `data:text/javascript,${encodeURIComponent(code)}`];
}

/** The same, run when the process gets SIGUSR2. */
export function onSignal(code: string): readonly string[] {
  return preload(`process.on('SIGUSR2', () => { ${code} });`);
}
