/** Writes the URL of each module that the process loads to the file that `LOADED_MODULES` names, one a line. `node --import ./test/tooling/loaded-modules.mjs` */
import { appendFileSync } from 'node:fs';
import { register } from 'node:module';
import { isMainThread } from 'node:worker_threads';

const list = process.env['LOADED_MODULES'] ?? '';

/** @type {import('node:module').LoadHook} */
export async function load(url, context, nextLoad) {
  appendFileSync(list, `${url}\n`);
  return await nextLoad(url, context);
}

if (isMainThread) register(import.meta.url);
