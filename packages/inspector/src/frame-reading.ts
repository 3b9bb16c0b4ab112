/** Readable form of JSON-RPC frames. */
import { messageOf } from 'mcp-actors';
import type { InboundFrame, OutboundFrame, RequestId } from 'mcp-actors';
import { redact, redactText } from 'mcp-actors/internal';
import type { FrameEvent } from './page-messages.ts';

export interface ReadFrame {
  readonly what: FrameEvent['what'];
  readonly method?: string;
  readonly id?: RequestId;
  /** Task id in the parameters of a client's request. */
  readonly task?: string;
  /** Builds the message shown on the page, on demand. */
  message(): unknown;
}

/** Characters shown of one message. */
const maxText = 16 * 1024;
/** Characters shown of a method name, which the peer chooses freely. */
const maxMethod = 120;
/** Our task ids are shorter, so a longer id cannot name a task. */
const maxTaskId = 200;
/** Values shown of one message. */
const maxValues = 400;

export function readInbound(frame: InboundFrame): ReadFrame {
  if (frame.kind === 'batch') return { what: 'batch', message: () => frame.messages };
  const id = 'id' in frame && frame.id !== undefined ? { id: frame.id } : {};
  switch (frame.kind) {
    case 'request':
    case 'notification': {
      const method = truncateMethod(frame.method);
      const message = () => ({ ...messageOf(frame), method });
      return { what: frame.kind, method, ...id, ...taskOf(frame), message };
    }
    case 'response': {
      const { outcome } = frame;
      const what = outcome.ok ? 'result' : 'error';
      const message = () =>
        'malformed' in outcome ? { ...id, malformed: outcome.malformed } : messageOf(frame);
      return { what, ...id, message };
    }
    case 'stray-error':
      return { what: 'error', message: () => messageOf(frame) };
    case 'invalid':
      return { what: 'invalid', ...id, message: () => ({ refusedWith: frame.error }) };
  }
}

type InboundCall = Extract<InboundFrame, { readonly kind: 'request' | 'notification' }>;

function taskOf(frame: InboundCall): Pick<ReadFrame, 'task'> {
  const taskId = frame.kind === 'request' ? frame.params?.['taskId'] : undefined;
  return typeof taskId === 'string' && taskId.length <= maxTaskId ? { task: taskId } : {};
}

export function readOutbound(frame: OutboundFrame): ReadFrame {
  if (isBatch(frame)) return { what: 'batch', message: () => frame };
  const message = () => frame;
  const id = 'id' in frame && frame.id !== undefined ? { id: frame.id } : {};
  if ('method' in frame) {
    const { method } = frame;
    return { what: 'id' in frame ? 'request' : 'notification', method, ...id, message };
  }
  return { what: 'error' in frame ? 'error' : 'result', ...id, message };
}

function isBatch(frame: OutboundFrame): frame is Extract<OutboundFrame, readonly unknown[]> {
  return Array.isArray(frame);
}

/** Truncates a method name for display. */
export function truncateMethod(method: string): string {
  return method.length > maxMethod ? `${method.slice(0, maxMethod)}…` : method;
}

/** Characters shown of a subject or an error in a row. */
export const maxSummaryLength = 200;

/** The subject of a message with params: its tool, prompt, resource or task. */
export function subjectIn(message: unknown): Pick<FrameEvent, 'subject'> {
  const { name, uri, taskId } = recordIn(message, 'params');
  const subject = [name, uri, taskId].find((each) => typeof each === 'string');
  return typeof subject === 'string' ? { subject: redactText(subject, maxSummaryLength) } : {};
}

/** Explains an error message: the JSON-RPC error, or the text of a tool result with `isError`. */
export function problemIn(message: unknown): Pick<FrameEvent, 'problem'> {
  const { malformed } = message as { readonly malformed?: unknown };
  const { code, message: words } = recordIn(message, 'error');
  const { isError, content } = recordIn(message, 'result');
  const said =
    typeof code === 'number' && typeof words === 'string'
      ? `${code} ${words}`
      : isError === true
        ? textIn(content)
        : malformed;
  return typeof said === 'string' ? { problem: redactText(said, maxSummaryLength) } : {};
}

/** The first text block of a tool's content. */
function textIn(content: unknown): string {
  const blocks: readonly unknown[] = Array.isArray(content) ? content : [];
  const text = blocks.map((block) => recordIn({ block }, 'block')['text']);
  return text.find((each): each is string => typeof each === 'string') ?? 'isError';
}

function recordIn(holder: unknown, key: string): { readonly [key: string]: unknown } {
  const value = (holder as { readonly [key: string]: unknown } | null)?.[key];
  return typeof value === 'object' && value !== null
    ? (value as { readonly [key: string]: unknown })
    : {};
}

/** Formats a value as indented JSON, redacted and truncated. */
export function boundedJson(value: unknown): string {
  const text = JSON.stringify(redact(value, maxValues), undefined, 2);
  if (text.length <= maxText) return text;
  return `${text.slice(0, maxText)}\n… (${text.length - maxText} more characters)`;
}
