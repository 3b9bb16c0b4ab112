import { textBlock } from '../content.ts';
import type { ContentBlock, ResourceContents } from '../content.ts';
import type { DisplayInfo } from '../display-info.ts';
import { inspectValue, isJsonObject } from '../classify.ts';
import { ErrorCode, ProtocolError, RuntimeError, invalidParams, toWireError } from '../errors.ts';
import type { FormDescription } from '../form.ts';
import type { JsonObject, RequestId, WireError } from '../frames.ts';
import type { Implementation, ServerDescription } from '../implementation.ts';
import { withMeta } from '../meta.ts';
import { Method } from '../methods.ts';
import { jsonText } from '../number-text.ts';
import { declaresRoots } from '../roots.ts';
import { skillMethods } from '../skills.ts';
import { relatedTask } from '../tasks.ts';
import type { DetailedTask, Task, TaskRequest, TaskSupport } from '../tasks.ts';
import type {
  CacheHints,
  ConversationItem,
  ConversationMessage,
  Dialect,
  MissingCapability,
  ProgressReport,
  PromptArgumentItem,
  PromptItem,
  ResourceItem,
  TemplateItem,
  ToolFailure,
  ToolItem,
  ToolResultItem,
  TypedItem,
  UrlElicitation,
} from './dialect.ts';
import { pick, omit } from './members.ts';
import type { WireObject } from './members.ts';

const methods: ReadonlySet<string> = new Set([
  Method.initialize,
  Method.ping,
  'tools/list',
  'tools/call',
  'resources/list',
  'resources/templates/list',
  'resources/read',
  'resources/subscribe',
  'resources/unsubscribe',
  'prompts/list',
  'prompts/get',
  'completion/complete',
  'logging/setLevel',
  ...skillMethods,
]);

export const noBatches: WireError = {
  code: ErrorCode.invalidRequest,
  message: 'Invalid request: this revision of the protocol has no batches',
};

/**
 * The first revision: stdio, roots, sampling, logging, ping, progress, cancellation. Later dialects
 * document their additions.
 */
export class Dialect20241105 implements Dialect {
  readonly version: string = '2024-11-05';

  /** Serializes as the version date. */
  toJSON(): string {
    return this.version;
  }

  initializeResult(server: ServerDescription): JsonObject {
    const { serverInfo, capabilities, instructions, others, isVerbatim } = server;
    return {
      ...others,
      protocolVersion: this.version,
      capabilities: isVerbatim ? capabilities : this.capabilities(capabilities),
      serverInfo: isVerbatim ? serverInfo : this.implementation(serverInfo),
      ...(instructions === undefined ? {} : { instructions }),
    };
  }

  /** This revision has no capability for completions. */
  missingForCompletion(_capabilities: JsonObject): string | undefined {
    return undefined;
  }

  protected capabilities(capabilities: JsonObject): JsonObject {
    return pick(capabilities, 'experimental', 'logging', 'prompts', 'resources', 'tools');
  }

  protected implementation(info: Implementation): JsonObject {
    return { name: info.name, version: info.version };
  }

  sessionOfRequest<T>(session: T): T | undefined {
    return session;
  }

  offers(method: string): boolean {
    return methods.has(method);
  }

  validateVersion(said: string): string | undefined {
    if (said === this.version) return undefined;
    return `MCP-Protocol-Version must be ${this.version}, the version of the session, got ${inspectValue(said)}`;
  }

  firstEvent(_id: string, _retryMs: number): string {
    return '';
  }

  batchRefusal(_messages: number, _maxMessages: number): WireError | undefined {
    return noBatches;
  }

  tool(tool: ToolItem): WireObject {
    const wire: WireObject = { name: tool.name };
    this.describe(tool, wire);
    wire['inputSchema'] = tool.inputSchema;
    return wire;
  }

  resource(resource: ResourceItem): WireObject {
    const wire: WireObject = { uri: resource.uri, name: resource.name };
    this.describe(resource, wire);
    this.#type(resource, wire);
    if (resource.size !== undefined) wire['size'] = resource.size;
    return wire;
  }

  template(template: TemplateItem): WireObject {
    const wire: WireObject = { uriTemplate: template.uriTemplate, name: template.name };
    this.describe(template, wire);
    this.#type(template, wire);
    return wire;
  }

  #type({ mimeType, annotations }: TypedItem, wire: WireObject): void {
    if (mimeType !== undefined) wire['mimeType'] = mimeType;
    if (annotations) wire['annotations'] = this.annotations(annotations);
  }

  prompt(prompt: PromptItem): WireObject {
    const wire: WireObject = { name: prompt.name };
    this.describe(prompt, wire);
    const declared = Object.entries(prompt.arguments ?? {});
    if (declared.length > 0) wire['arguments'] = declared.map((each) => this.#argument(...each));
    return wire;
  }

  #argument(name: string, argument: PromptArgumentItem): WireObject {
    const wire: WireObject = { name };
    this.describe(argument, wire);
    if (argument.required !== undefined) wire['required'] = argument.required;
    return wire;
  }

  /** Adds the descriptive members of a listed item. */
  protected describe(item: DisplayInfo, wire: WireObject): void {
    if (item.description !== undefined) wire['description'] = item.description;
  }

  /** Annotations of a resource, a template or a content block. */
  protected annotations(annotations: object): JsonObject {
    return { ...omit(annotations, 'lastModified') };
  }

  content(blocks: readonly ContentBlock[]): readonly ContentBlock[] {
    return blocks.map((block) => this.block(block));
  }

  protected block(block: ContentBlock): ContentBlock {
    switch (block.type) {
      case 'audio': {
        const text = `[Audio, ${block.mimeType}: not supported by MCP ${this.version}]`;
        return { type: 'text', text, ...this.#annotated(block) };
      }
      case 'resource_link':
        return { type: 'text', text: linkText(block), ...this.#annotated(block) };
      default:
        return this.plain(block);
    }
  }

  /** Removes members that later revisions added to every block. */
  protected plain(block: ContentBlock): ContentBlock {
    const known = { ...omit(block, 'annotations', '_meta'), ...this.#annotated(block) };
    return known.type === 'resource'
      ? { ...known, resource: this.contents(known.resource) }
      : known;
  }

  #annotated({ annotations }: ContentBlock): { readonly annotations?: JsonObject } {
    return annotations ? { annotations: this.annotations(annotations) } : {};
  }

  contents(contents: ResourceContents): ResourceContents {
    return omit(contents, '_meta');
  }

  toolResult({ content, structured, isError, _meta }: ToolResultItem): WireObject {
    const blocks = content ?? [textBlock(jsonText(structured))];
    const wire: WireObject = { content: this.content(blocks) };
    if (isError) wire['isError'] = true;
    if (_meta) wire['_meta'] = _meta;
    if (structured) this.addStructured(wire, structured);
    return wire;
  }

  /** Ignored: structured output came later, and clients get it as text. */
  protected addStructured(_wire: WireObject, _structured: JsonObject): void {}

  invalidArguments(message: string): JsonObject {
    throw invalidParams(message);
  }

  toolFailure({ code, message }: ToolFailure): JsonObject {
    const text = code === undefined ? message : `${code}: ${message}`;
    return { content: [textBlock(text)], isError: true };
  }

  /** @see MCP 2025-11-25, server/resources, "Error Handling" */
  resourceNotFound(uri: string): ProtocolError {
    const message = `Resource not found: ${inspectValue(uri)}`;
    return new ProtocolError(ErrorCode.resourceNotFound, message, { uri });
  }

  result(result: JsonObject, _server: ServerDescription): JsonObject {
    return result;
  }

  cacheable(result: JsonObject, _hints: CacheHints): JsonObject {
    return result;
  }

  wireError(thrown: unknown): WireError | undefined {
    return toWireError(thrown);
  }

  projectError(error: WireError): WireError {
    return error;
  }

  progress(progressToken: RequestId, { progress, total }: ProgressReport): JsonObject {
    return { progressToken, progress, ...(Number.isFinite(total) ? { total } : {}) };
  }

  /** This revision has no tasks, so a request for one is an unknown member. */
  taskRequest(
    _tool: { readonly name: string; readonly taskSupport?: TaskSupport },
    _params: JsonObject | undefined,
    _capabilities: JsonObject,
  ): TaskRequest | undefined {
    return undefined;
  }

  missingForTasks(_capabilities: JsonObject): MissingCapability | undefined {
    return undefined;
  }

  createdTask(task: Task): JsonObject {
    return withMeta({ task }, relatedTask(task.taskId));
  }

  task({ inputRequests: _inputRequests, response: _response, ...task }: DetailedTask): JsonObject {
    return task;
  }

  cancelledTask(task: Task): JsonObject {
    return { ...task };
  }

  cancelledEndedTask({ taskId, status }: Task): JsonObject {
    const message = `Cannot cancel task ${taskId}: already in terminal status '${status}'`;
    throw new ProtocolError(ErrorCode.invalidParams, message);
  }

  completionContext(_params: JsonObject | undefined): unknown {
    return undefined;
  }

  missingCapability(
    method: string,
    params: JsonObject | undefined,
    capabilities: JsonObject,
  ): MissingCapability | undefined {
    switch (method) {
      case Method.rootsList:
        return declaresRoots(capabilities) ? undefined : undeclared('roots');
      case Method.createMessage: {
        const { sampling } = capabilities;
        return isJsonObject(sampling)
          ? this.missingForSampling(sampling, params)
          : undeclared('sampling');
      }
      case Method.elicit: {
        const { elicitation } = capabilities;
        return params?.['mode'] === 'url'
          ? this.missingForUrl(elicitation)
          : this.missingForForm(elicitation);
      }
      default:
        return undefined;
    }
  }

  /** @param _sampling the client's `sampling` capability */
  protected missingForSampling(
    _sampling: JsonObject,
    params: JsonObject | undefined,
  ): MissingCapability | undefined {
    return usesTools(params) ? this.#unsupported('tools in sampling') : undefined;
  }

  protected missingForForm(_elicitation: unknown): MissingCapability | undefined {
    return this.#unsupported('elicitation');
  }

  protected missingForUrl(_elicitation: unknown): MissingCapability | undefined {
    return this.#unsupported('URL elicitation');
  }

  #unsupported(what: string): MissingCapability {
    return { why: `speaks revision ${this.version}, which has no ${what}` };
  }

  sampling({ messages, ...params }: ConversationItem): JsonObject {
    return { ...params, messages: messages.flatMap((message) => this.messages(message)) };
  }

  /** Messages have a single block in this revision, so several blocks become several messages. */
  protected messages({ role, content }: ConversationMessage): readonly JsonObject[] {
    return content.map((block) => {
      this.checkModality(block);
      return { role, content: block };
    });
  }

  protected checkModality({ type }: { readonly type: string }): void {
    if (type !== 'audio') return;
    throw notSent(`Revision ${this.version} has no audio content`);
  }

  form(_message: string, _form: FormDescription): JsonObject {
    throw notSent(`Revision ${this.version} has no elicitation`);
  }

  url(elicitation: UrlElicitation): JsonObject {
    return { ...elicitation };
  }
}

/** @param capability such as `sampling`, or `sampling.tools` for a nested one */
export function undeclared(capability: string): MissingCapability {
  const why = `did not declare the capability "${capability}"`;
  const required = capability
    .split('.')
    .reduceRight((inner: JsonObject, name) => ({ [name]: inner }), {});
  return { why, required };
}

function notSent(why: string): RuntimeError {
  return new RuntimeError('CAPABILITY_MISSING', `${why}; nothing was sent`);
}

/** True if a sampling request uses tools, or its conversation did. */
export function usesTools(params: JsonObject | undefined): boolean {
  const { tools, toolChoice, messages } = params ?? {};
  if (tools !== undefined || toolChoice !== undefined) return true;
  if (!Array.isArray(messages)) return false;
  return (messages as readonly unknown[]).some((message) => {
    const content: unknown = isJsonObject(message) ? message['content'] : undefined;
    return [content].flat().some((block) => {
      const type: unknown = isJsonObject(block) ? block['type'] : undefined;
      return type === 'tool_use' || type === 'tool_result';
    });
  });
}

function linkText({
  name,
  title = name,
  uri,
  description,
}: Extract<ContentBlock, { readonly type: 'resource_link' }>): string {
  return `${title}: ${uri}${description === undefined ? '' : ` (${description})`}`;
}
