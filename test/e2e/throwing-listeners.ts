/** A host with the built library and its own copy of RxJS, whose listeners all throw. */
import { createMcpServer, stdio } from 'mcp-actors';
import { filter, from, map, tap } from 'rxjs';

let failures = 0;
process.on('uncaughtException', ({ message }) => {
  if (message === 'a bug of the host’s') failures++;
});
const fail = () => {
  throw new Error('a bug of the host’s');
};
const session = createMcpServer({ name: 'bugs', version: '1', tools: [] }).listen(stdio(), {
  onEmitted: fail,
});
session.state$.subscribe(fail);
session.state$.pipe(map(fail)).subscribe();
session.events$.pipe(filter(Boolean), tap(fail)).subscribe();
session.roots$.subscribe({ next: fail, complete: fail });
session.traffic$.subscribe(fail);
session.actor.on('*', fail);
session.actor.subscribe(fail);

const states: string[] = [];
from(session.state$).subscribe((state) => states.push(state));
const { kind } = await session.closed;
// Errors deferred by a timer would be thrown before this one.
setTimeout(() => console.error(JSON.stringify({ kind, states, failures })), 10);
