/**
 * Definition-time validation of machine tools: the machine must be resumable from its snapshot, know
 * its questions, and handle their answers.
 */
import type { AnyStateMachine } from 'xstate';
import { inspectValue, isJsonObject } from '../../protocol/classify.ts';
import { findNonSerializable } from '../../protocol/non-serializable.ts';
import { allAnswers, answersFor, validateQuestion, waitingTag } from './tool-question.ts';
import type { WaitingMeta } from './tool-question.ts';

type Node = AnyStateMachine['root'];

/** A problem with the context of a resumable machine, which must survive JSON; undefined if valid. */
export function validateContext(context: unknown): string | undefined {
  const unkept = findNonSerializable(context);
  if (!unkept) return undefined;
  const { path, what } = unkept;
  const where = path === '' ? 'its context' : `"${path}" in its context`;
  return `${where} is ${what}, which JSON cannot restore`;
}

const unitsMs: { readonly [unit: string]: number } = {
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/** Milliseconds of a duration such as `500ms`, `30s`, `10m`, `24h` or `7d`; undefined for any other text. */
export function parseDuration(text: string): number | undefined {
  const [, count, unit = ''] = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/.exec(text) ?? [];
  const unitMs = unitsMs[unit];
  return unitMs === undefined ? undefined : Number(count) * unitMs;
}

/**
 * Rejects a machine that cannot be resumed, has a waiting state without a valid question, or does not
 * handle an answer.
 *
 * @throws {TypeError} naming the tool and the state
 */
export function checkToolMachine(
  machine: unknown,
  tool: string,
): asserts machine is AnyStateMachine {
  if (!isMachine(machine)) {
    throw new TypeError(
      `"machine" of ${tool} must be an XState machine from createMachine or setup(…).createMachine, got ${inspectValue(machine)}`,
    );
  }
  const { context } = machine.config as { readonly context?: unknown };
  const fault = typeof context === 'function' ? undefined : validateContext(context ?? {});
  if (fault !== undefined)
    throw new TypeError(`The machine of ${tool} cannot be resumed: ${fault}`);
  checkNode(machine.root, [], tool);
}

/** Structural, because the machine may come from another copy of XState. */
function isMachine(given: unknown): given is AnyStateMachine {
  if (typeof given !== 'object' || given === null) return false;
  const { root, config, transition } = given as Partial<AnyStateMachine>;
  return isJsonObject(root) && isJsonObject(config) && typeof transition === 'function';
}

/** @param outer ancestor states, outermost first */
function checkNode(node: Node, outer: readonly Node[], tool: string): void {
  const refuse = (what: string) => {
    throw new TypeError(`The machine of ${tool} ${what}`);
  };
  const { ask } = (node.meta ?? {}) as WaitingMeta;
  const name = `the state "${node.id}"`;
  const { delays } = node.machine.implementations;
  for (const { delay } of node.after) {
    if (typeof delay !== 'string' || Object.hasOwn(delays, delay) || parseDuration(delay)) continue;
    refuse(
      `has an unknown delay: "${delay}" of ${name} must be declared in "delays" or be a duration such as "24h"`,
    );
  }
  if (node.tags.includes(waitingTag)) {
    if (ask === undefined)
      refuse(`cannot be resumed: ${name} has the tag "${waitingTag}" but no meta.ask`);
    const fault = typeof ask === 'function' ? undefined : validateQuestion(ask);
    if (fault !== undefined) refuse(`has an invalid question: meta.ask of ${name} ${fault}`);
    const missed = unhandledAnswer(node, outer, ask as NonNullable<WaitingMeta['ask']>);
    if (missed !== undefined) {
      refuse(
        `could get stuck: ${name} does not handle "${missed}". Add a transition for that event to it or to an ancestor; "answer.*" handles all others`,
      );
    }
  } else if (ask !== undefined) {
    refuse(`would never ask: ${name} has a meta.ask but lacks the tag "${waitingTag}"`);
  }
  for (const child of Object.values(node.states)) checkNode(child, [...outer, node], tool);
}

/** A possible answer that no active state handles. */
function unhandledAnswer(
  node: Node,
  outer: readonly Node[],
  ask: NonNullable<WaitingMeta['ask']>,
): string | undefined {
  // Parallel siblings and child states receive the event, too.
  const parallel = outer.find(({ type }) => type === 'parallel');
  const heard = [...outer.flatMap(eventsOf), ...within(parallel ?? node).flatMap(eventsOf)];
  const takes = (answer: string) => heard.some((descriptor) => covers(descriptor, answer));
  if (typeof ask !== 'function') return answersFor(ask).find((answer) => !takes(answer));
  // The question of a function is known only at run time.
  return allAnswers.some(takes) ? undefined : 'answer.accepted';
}

function within(node: Node): readonly Node[] {
  return [node, ...Object.values(node.states).flatMap(within)];
}

function eventsOf({ transitions }: Node): readonly string[] {
  return [...transitions.keys()];
}

/** True if an XState event descriptor matches an event. */
function covers(descriptor: string, event: string): boolean {
  if (descriptor === '*' || descriptor === event) return true;
  return descriptor.endsWith('.*') && event.startsWith(descriptor.slice(0, -1));
}
