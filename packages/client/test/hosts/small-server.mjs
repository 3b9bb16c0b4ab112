/**
 * A small server over stdio. Its arguments: the names of its tools; `--banner` writes a line that is no
 * message, `--deaf` never answers anything.
 */
import { createMcpServer, defineTool, stdio } from 'mcp-actors';

const args = process.argv.slice(2);
const names = args.filter((arg) => !arg.startsWith('--'));

const server = createMcpServer({
  name: 'small',
  version: '1.0.0',
  tools: names.map((name) =>
    defineTool({
      name,
      description: `Says ${name}`,
      inputSchema: { type: 'object', properties: { text: { type: 'string' } } },
      handler: ({ text }, { elicit }) => {
        if (name === 'die') process.exit(7);
        if (name === 'pid') return String(process.pid);
        if (name === 'hang') return process.stderr.write('hanging\n') && new Promise(() => {});
        if (name !== 'ask') return `${name} ${text ?? ''}`.trim();
        return elicit({
          message: 'Your name?',
          schema: {
            type: 'object',
            properties: { name: { type: 'string' } },
            required: ['name'],
          },
        }).then((answer) => JSON.stringify(answer));
      },
    }),
  ),
});

if (args.includes('--banner')) console.log('Welcome!');
if (args.includes('--deaf')) process.stdin.resume();
else server.listen(stdio());
