import { inspectValue, isJsonObject } from '../classify.ts';
import { ErrorCode, ForwardedError, ProtocolError, RuntimeError } from '../errors.ts';
import type { JsonObject, WireError } from '../frames.ts';
import type { Implementation, ServerDescription } from '../implementation.ts';
import { MetaKey } from '../meta.ts';
import { Method } from '../methods.ts';
import { Dialect20251125 } from './2025-11-25.ts';
import type {
  CacheHints,
  MissingCapability,
  StatelessDialect,
  ToolFailure,
  ToolItem,
  UrlElicitation,
} from './dialect.ts';
import { omit } from './members.ts';
import type { WireObject } from './members.ts';
import { skillMethods } from '../skills.ts';
import { declaresTasks, tasksExtension } from '../tasks.ts';
import type { DetailedTask, Task, TaskRequest, TaskSupport } from '../tasks.ts';

const methods: ReadonlySet<string> = new Set([
  Method.discover,
  'tools/list',
  'tools/call',
  'resources/list',
  'resources/templates/list',
  'resources/read',
  'prompts/list',
  'prompts/get',
  'completion/complete',
  'subscriptions/listen',
  'tasks/get',
  'tasks/update',
  'tasks/cancel',
  ...skillMethods,
]);

const serverRequests: readonly string[] = [Method.rootsList, Method.createMessage, Method.elicit];

/** Codes that the revision defines in its reserved range; the first is for HTTP. */
const definedCodes: readonly number[] = [
  -32020,
  ErrorCode.missingClientCapability,
  ErrorCode.unsupportedProtocolVersion,
];

/**
 * Removes the handshake and server requests: each request describes its client, each result its
 * server. Removes ping, logging/setLevel and resource subscriptions. Tasks become an extension, and
 * the server decides which calls become tasks. Adds discovery, result types and caching hints.
 */
export class Dialect20260728 extends Dialect20251125 implements StatelessDialect {
  override readonly version: string = '2026-07-28';

  discoverResult(
    server: ServerDescription,
    supportedVersions: readonly string[],
    hints: CacheHints,
  ): JsonObject {
    const { capabilities, instructions, isVerbatim } = server;
    const result = {
      supportedVersions,
      capabilities: isVerbatim ? capabilities : this.capabilities(capabilities),
      ...(instructions === undefined ? {} : { instructions }),
    };
    return identified(this.cacheable(result, hints), server.serverInfo);
  }

  protected override capabilities(capabilities: JsonObject): JsonObject {
    const kept = omit(super.capabilities(capabilities), 'tasks');
    const { extensions, tasks } = capabilities;
    if (!extensions && !tasks) return kept;
    const given = isJsonObject(extensions) ? extensions : {};
    return { ...kept, extensions: tasks ? { ...given, [tasksExtension]: {} } : given };
  }

  override sessionOfRequest(): undefined {
    return undefined;
  }

  override offers(method: string): boolean {
    return methods.has(method);
  }

  override tool(tool: ToolItem): WireObject {
    const wire = super.tool(tool);
    return tool.taskSupport ? omit(wire, 'execution') : wire;
  }

  /** Icons and titles of the server are omitted; discovery has them. */
  override result(result: JsonObject, { serverInfo }: ServerDescription): JsonObject {
    const { name, version } = serverInfo;
    return identified(result, { name, version });
  }

  override cacheable(result: JsonObject, { ttlMs, scope }: CacheHints): JsonObject {
    return { ...result, ttlMs, cacheScope: scope };
  }

  override resourceNotFound(uri: string): ProtocolError {
    const { message, data } = super.resourceNotFound(uri);
    return new ProtocolError(ErrorCode.invalidParams, message, data);
  }

  /** Rethrows missing capabilities as request errors: the client may declare them and retry. */
  override toolFailure(failure: ToolFailure): JsonObject {
    if (failure instanceof RuntimeError && failure.requiredCapabilities) throw failure;
    return super.toolFailure(failure);
  }

  override wireError(thrown: unknown): WireError | undefined {
    if (thrown instanceof RuntimeError && thrown.requiredCapabilities) {
      const { message, requiredCapabilities } = thrown;
      const data = { requiredCapabilities };
      return { code: ErrorCode.missingClientCapability, message, data };
    }
    const error = super.wireError(thrown);
    return thrown instanceof ForwardedError ? error : error && this.projectError(error);
  }

  /**
   * Replaces codes that the revision forbids: those of earlier revisions, and undefined ones of its
   * reserved range.
   *
   * @see MCP 2026-07-28, basic, "Error Codes"
   */
  override projectError(error: WireError): WireError {
    const { code } = error;
    if (code < -32099 || code > -32000 || definedCodes.includes(code)) return error;
    const isMissing = code === ErrorCode.resourceNotFound;
    return { ...error, code: isMissing ? ErrorCode.invalidParams : ErrorCode.internalError };
  }

  /** Clients declare support for tasks, and the server decides which calls become tasks. */
  override taskRequest(
    {
      name,
      taskSupport = 'forbidden',
    }: { readonly name: string; readonly taskSupport?: TaskSupport },
    _params: JsonObject | undefined,
    capabilities: JsonObject,
  ): TaskRequest | undefined {
    if (taskSupport === 'forbidden') return undefined;
    const missing = this.missingForTasks(capabilities);
    if (!missing) return { requestedTtlMs: undefined };
    if (taskSupport === 'optional') return undefined;
    const message = `The tool ${inspectValue(name)} must be called as a task, but the client ${missing.why}`;
    const { required: requiredCapabilities } = missing;
    throw new RuntimeError('CAPABILITY_MISSING', message, { requiredCapabilities });
  }

  override missingForTasks(capabilities: JsonObject): MissingCapability | undefined {
    if (declaresTasks(capabilities)) return undefined;
    return {
      why: `did not declare the extension "${tasksExtension}"`,
      required: { extensions: { [tasksExtension]: {} } },
    };
  }

  override createdTask(task: Task): JsonObject {
    return { resultType: 'task', ...statedTask(task) };
  }

  override task({ inputRequests, response, ...task }: DetailedTask): JsonObject {
    const stated = statedTask(task);
    if (task.status === 'input_required') return { ...stated, inputRequests };
    if (!response) return stated;
    // A tool result with `isError` counts as completed.
    return 'error' in response
      ? { ...stated, status: 'failed', error: this.projectError(response.error) }
      : { ...stated, status: 'completed', result: response.result };
  }

  /** An acknowledgement; the client polls the task for its outcome. */
  override cancelledTask(): JsonObject {
    return {};
  }

  override cancelledEndedTask(): JsonObject {
    return {};
  }

  override missingCapability(
    method: string,
    params: JsonObject | undefined,
    capabilities: JsonObject,
  ): MissingCapability | undefined {
    if (serverRequests.includes(method))
      return super.missingCapability(method, params, capabilities);
    const why = `speaks revision ${this.version}, in which servers may only request ${serverRequests.join(', ')}`;
    return { why };
  }

  override url(elicitation: UrlElicitation): JsonObject {
    return omit(super.url(elicitation), 'elicitationId');
  }
}

/** Adds the result type and the server's identity, unless present. */
function identified(result: JsonObject, serverInfo: Implementation): JsonObject {
  const meta = result['_meta'];
  return {
    resultType: 'complete',
    ...result,
    _meta:
      meta !== undefined && isJsonObject(meta)
        ? { ...meta, [MetaKey.serverInfo]: meta[MetaKey.serverInfo] ?? serverInfo }
        : { [MetaKey.serverInfo]: serverInfo },
  };
}

function statedTask({ ttl: ttlMs, pollInterval: pollIntervalMs, ...task }: Task): JsonObject {
  return { ...task, ttlMs, pollIntervalMs };
}
