/** `serve --openapi`: serves the operations of an API as tools. */
import { createMcpServer } from 'mcp-actors';
import type { Fact, HandlerContext, McpServer, Report } from 'mcp-actors';
import { toolsFromOpenApi } from '@mcp-actors/openapi';
import type { ApiValues } from '@mcp-actors/openapi';
import { UsageError, packageVersion } from './command.ts';
import type { OpenApiSettings } from './options/openapi-settings.ts';

/** Log facts about a document. */
type OpenApiFact = Fact<
  /** An operation is skipped because the document is invalid there. */
  | 'operation.unusable'
  /** A schema keyword is ignored. */
  | 'schema.keywordIgnored'
  /** Tool names collide and get a digest. */
  | 'tool.nameCollision'
>;

/**
 * Creates a server with one tool per selected operation.
 *
 * @throws {UsageError} if the document is unusable or has no such operation
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
        const message = `${operation} is skipped: ${reason}`;
        report({ level: 'warning', name: 'operation.unusable', message });
      },
      onWarning: ({ name, message }) => report({ level: 'warning', name, message }),
    });
    if (tools.length === 0) {
      const filters = [
        ...include.map((name) => ` --openapi-include ${name}`),
        ...exclude.map((name) => ` --openapi-exclude ${name}`),
      ].join('');
      throw new Error(`no operation to serve${filters && ` with${filters}`}`);
    }
    return createMcpServer({ name: 'openapi', version: packageVersion(), tools });
  } catch (error) {
    throw new UsageError(`--openapi: ${(error as Error).message}`, { cause: error });
  }
}

/** Headers with a token for the API, exchanged for the caller's token. */
function exchanged(audience: string, headers: ApiValues) {
  return async ({ exchangeToken }: HandlerContext): Promise<ApiValues> => {
    const { accessToken } = await exchangeToken({ audience });
    return { ...headers, authorization: `Bearer ${accessToken}` };
  };
}
