/** Mounted in Fastify, in its own scope so that the handler reads the body. */
import Fastify from 'fastify';
import { nodeHandler } from 'mcp-actors/http/node';
import { greeter } from './greeter.ts';

const mcp = nodeHandler(greeter);

export const app = Fastify();
await app.register(async (scope) => {
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser('*', (_request, _body, done) => done(null));
  scope.all('/mcp', (request, reply) => {
    reply.hijack();
    mcp(request.raw, reply.raw);
  });
});
