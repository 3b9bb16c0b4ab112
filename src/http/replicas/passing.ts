/**
 * A message that the client posts at one node and that is for others, too: the answer to a request
 * that another node has sent, a cancellation of a call that runs elsewhere, a fact for all replicas.
 */
import { classifyMessage, describe } from '../../protocol/classify.ts';
import type {
  InboundBatch,
  InboundFrame,
  InboundNotification,
  InboundResponse,
  InvalidFrame,
} from '../../protocol/frames.ts';
import { Method } from '../../protocol/methods.ts';
import { fault, malformedResponse, errorAnswer } from '../checks.ts';
import type { HttpAnswer } from '../http-exchange.ts';
import type { Letter } from '../nodes/mailbox.ts';
import { askerOf } from '../nodes/names.ts';
import type { Stores } from '../nodes/stores.ts';
import { rootsSlot } from './journal.ts';
import type { Change } from './journal.ts';

/** What becomes of a message that others have to do with. */
export type PassOutcome =
  | { readonly kind: 'answered'; readonly answer: HttpAnswer }
  /** This is for here. */
  | { readonly kind: 'rest'; readonly frame: InboundFrame };

/** The session that it is for. */
export interface PassingSession {
  readonly id: string;
  readonly home: { readonly stores: Stores };
  /** The replica at this node. */
  readonly replica: { receive(frame: InboundFrame): void };
  note(change: Change): Promise<void>;
  distrustRoots(): void;
}

const accepted: PassOutcome = { kind: 'answered', answer: { status: 202 } };

/**
 * Hands on what is for other nodes. Once it resolves, they have it, and the message may be
 * acknowledged. It rejects with `StoreUnavailable` if they could not be reached.
 * @returns undefined if the message is for here alone
 */
export function passOn(
  frame: InboundFrame,
  session: PassingSession,
): Promise<PassOutcome> | undefined {
  switch (frame.kind) {
    case 'response':
      return passResponse(frame, session);
    case 'notification':
      return passNotification(frame, session);
    case 'batch':
      return passParts(frame, session);
    case 'invalid':
      return passUnreadable(frame, session);
    default:
      return undefined;
  }
}

function passResponse(
  frame: InboundResponse,
  session: PassingSession,
): Promise<PassOutcome> | undefined {
  const asker = otherAsker(frame.id, session);
  if (asker === undefined) return undefined;
  const text = textOfResponse(frame);
  const sent = send(asker, { kind: 'answer', session: session.id, text }, session, frame.id);
  if (!('malformed' in frame.outcome)) return sent;
  return refusedAfter(sent, malformedResponse(frame.outcome.malformed));
}

/** What was meant as an answer, and cannot be read: the call that waits for it is told. */
function passUnreadable(
  { answers, error }: InvalidFrame,
  session: PassingSession,
): Promise<PassOutcome> | undefined {
  const asker = otherAsker(answers, session);
  if (asker === undefined) return undefined;
  const text = JSON.stringify({ jsonrpc: '2.0', id: answers, result: null });
  const sent = send(asker, { kind: 'answer', session: session.id, text }, session, answers);
  return refusedAfter(sent, errorAnswer(error));
}

/** The fault of the message counts, unless it has found nobody. */
async function refusedAfter(sent: Promise<PassOutcome>, answer: HttpAnswer): Promise<PassOutcome> {
  const passed = await sent;
  return passed === accepted ? { kind: 'answered', answer } : passed;
}

function passNotification(
  frame: InboundNotification,
  session: PassingSession,
): Promise<PassOutcome> | undefined {
  switch (frame.method) {
    case Method.initialized:
      return receiveAfter(session.note({ slot: 'initialized', text: '{}' }), frame, session);
    case Method.rootsListChanged:
      return receiveAfter(tellRootsChanged(frame, session), frame, session);
    case Method.cancelled:
      return passCancellation(frame, session);
    case Method.progress: {
      const token = frame.params?.['progressToken'];
      const asker = otherAsker(token, session);
      if (asker === undefined) return undefined;
      return send(asker, letterOf(frame, session), session, token);
    }
    default:
      return undefined;
  }
}

/** The id of a request from a server names its node; a request from the client may be at any node. */
function passCancellation(
  frame: InboundNotification,
  session: PassingSession,
): Promise<PassOutcome> | undefined {
  const { node, mailbox } = session.home.stores;
  const id = frame.params?.['requestId'];
  const asker = askerOf(id);
  if (asker === node) return undefined;
  if (asker !== undefined) return send(asker, letterOf(frame, session), session, id);
  session.replica.receive(frame);
  return mailbox.broadcast(letterOf(frame, session)).then(() => accepted);
}

function passParts(batch: InboundBatch, session: PassingSession): Promise<PassOutcome> | undefined {
  const passed: Promise<PassOutcome>[] = [];
  const messages = batch.messages.filter((message) => {
    const part = classifyMessage(message);
    const isOneWay = part.kind === 'response' || part.kind === 'notification';
    const passing = isOneWay ? passOn(part, session) : undefined;
    if (passing) passed.push(passing);
    return !passing;
  });
  if (passed.length === 0) return undefined;
  return Promise.all(passed).then((all) => {
    if (messages.length > 0) return { kind: 'rest', frame: { ...batch, messages } };
    return all.find((each) => each.kind === 'answered' && each.answer.status >= 400) ?? accepted;
  });
}

async function receiveAfter(
  done: Promise<void>,
  frame: InboundNotification,
  { replica }: PassingSession,
): Promise<PassOutcome> {
  await done;
  replica.receive(frame);
  return accepted;
}

/** First the old list is dropped at all nodes, then they ask again. */
async function tellRootsChanged(
  frame: InboundNotification,
  session: PassingSession,
): Promise<void> {
  session.distrustRoots();
  await session.note({ slot: rootsSlot, text: undefined });
  await session.home.stores.mailbox.broadcast(letterOf(frame, session));
}

async function send(
  node: string,
  letter: Letter,
  { home }: PassingSession,
  id: unknown,
): Promise<PassOutcome> {
  const { kind } = await home.stores.mailbox.send(node, letter);
  if (kind === 'received') return accepted;
  const message = `The process that has sent the request ${describe(id)} has ended`;
  return { kind: 'answered', answer: fault(400, message) };
}

/** The node that has sent the request, if it is another one. */
function otherAsker(id: unknown, { home }: PassingSession): string | undefined {
  const asker = askerOf(id);
  return asker === home.stores.node ? undefined : asker;
}

function letterOf({ method, params }: InboundNotification, { id }: PassingSession): Letter {
  const text = JSON.stringify({ jsonrpc: '2.0', method, params });
  return { kind: 'notification', session: id, text };
}

/** As the client sent it; what is wrong with a malformed one is told where it arrived. */
function textOfResponse({ id, outcome }: InboundResponse): string {
  const body = outcome.ok
    ? { result: outcome.result }
    : 'error' in outcome
      ? { error: outcome.error }
      : { result: null };
  return JSON.stringify({ jsonrpc: '2.0', id, ...body });
}
