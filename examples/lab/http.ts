/**
 * The lab over HTTP, in both eras, on one endpoint: http://127.0.0.1:PORT/mcp
 *
 *     PORT=3000 npx tsx examples/lab/http.ts --help
 */
import { serve } from 'mcp-actors/serve';
import { laboratory } from './laboratory.ts';
import { readFlags } from './flags.ts';

const flags = readFlags(process.argv.slice(2), process.env);
switch (flags.kind) {
  case 'help':
    console.log(flags.text);
    break;
  case 'refused':
    console.error(`${flags.message}; see --help`);
    process.exitCode = 64;
    break;
  case 'serve':
    await serve(laboratory, { http: flags.http });
}
