/** `serve --openapi`: the operations of an API as tools. */
import { createMcpServer } from 'mcp-actors';
import type { Fact, HandlerContext, McpServer, Report } from 'mcp-actors';
import { toolsFromOpenApi } from '@mcp-actors/openapi';
import type { ApiValues } from '@mcp-actors/openapi';
import { UsageError, packageVersion } from './command.ts';
import type { OpenApiSettings } from './options/openapi-settings.ts';

/** Facts that the log has of a document. */
type OpenApiFact = Fact<
  /** An operation is left out: the document is wrong there. */
  | 'operation.unusable'
  /** A keyword of a schema is left out. */
  | 'schema.keywordIgnored'
  /** Names of tools collide, and have a digest. */
  | 'tool.nameCollision'
>;

/**
 * A server with a tool for each operation that is wanted.
 *
 * @throws {UsageError} the document cannot be used, or has no such operation
 */
export async function openApiServer(
  { document, server, headers, query, exchange, include, exclude, checkResponses }: OpenApiSettings,
  report: Report<OpenApiFact['name']>,
): Promise<McpServer> {
  try {
    const tools = await toolsFromOpenApi(document, {
      ...(server === undefined ? {} : { server }),
      ...(include.length > 0 ? { include } : {}),
      exclude,
      auth: exchange === undefined ? headers : exchanged(exchange, headers),
      authQuery: query,
      checkResponses,
      onUnusable: ({ operation, reason }) => {
        const message = `${operation} is left out: ${reason}`;
        report({ level: 'warning', name: 'operation.unusable', message });
      },
      onWarning: ({ name, message }) => report({ level: 'warning', name, message }),
    });
    if (tools.length === 0) {
      const filters = [
        ...include.map((name) => ` --openapi-include ${name}`),
        ...exclude.map((name) => ` --openapi-exclude ${name}`),
      ].join('');
      throw new Error(`there is no operation that could be served${filters && ` with${filters}`}`);
    }
    return createMcpServer({ name: 'openapi', version: packageVersion(), tools });
  } catch (error) {
    throw new UsageError(`--openapi: ${(error as Error).message}`, { cause: error });
  }
}

/** Headers with a token for the API, for which that of the caller is exchanged. */
function exchanged(audience: string, headers: ApiValues) {
  return async ({ exchangeToken }: HandlerContext): Promise<ApiValues> => {
    const { accessToken } = await exchangeToken({ audience });
    return { ...headers, authorization: `Bearer ${accessToken}` };
  };
}
