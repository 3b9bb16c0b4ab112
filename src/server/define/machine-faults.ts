/**
 * What stands in the way of a tool that is a machine, seen when it is defined: that it could not go
 * on from its snapshot, would not know what to ask, or would have nothing to do with an answer.
 */
import type { AnyStateMachine } from 'xstate';
import { inspectValue, isJsonObject } from '../../protocol/classify.ts';
import { findNonSerializable } from '../../protocol/non-serializable.ts';
import { answersOf, answersTo, validateQuestion, waiting } from './tool-question.ts';
import type { WaitingMeta } from './tool-question.ts';

type Node = AnyStateMachine['root'];

/**
 * What is wrong with the context of a machine that is to be resumed; undefined if nothing is. JSON
 * must give it back as it was.
 */
export function validateContext(context: unknown): string | undefined {
  const unkept = findNonSerializable(context);
  if (!unkept) return undefined;
  const { path, what } = unkept;
  const where = path === '' ? 'its context' : `"${path}" in its context`;
  return `${where} is ${what}, which does not come back from JSON as it was`;
}

const unitsMs: { readonly [unit: string]: number } = {
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/** The milliseconds of a time such as `500ms`, `30s`, `10m`, `24h` or `7d`; undefined for any other text. */
export function durationOf(text: string): number | undefined {
  const [, count, unit = ''] = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/.exec(text) ?? [];
  const unitMs = unitsMs[unit];
  return unitMs === undefined ? undefined : Number(count) * unitMs;
}

/**
 * Refuses a machine that could not go on from its snapshot, would not know what to ask, or goes
 * nowhere from an answer.
 *
 * @throws {TypeError} naming the tool and the state
 */
export function checkToolMachine(
  machine: unknown,
  tool: string,
): asserts machine is AnyStateMachine {
  if (!isMachine(machine)) {
    throw new TypeError(
      `"machine" of ${tool} must be an XState machine, of createMachine or setup(…).createMachine; this is ${inspectValue(machine)}`,
    );
  }
  const { context } = machine.config as { readonly context?: unknown };
  const fault = typeof context === 'function' ? undefined : validateContext(context ?? {});
  if (fault !== undefined)
    throw new TypeError(`The machine of ${tool} cannot be resumed: ${fault}`);
  checkNode(machine.root, [], tool);
}

/** Any copy of XState may have made it. */
function isMachine(given: unknown): given is AnyStateMachine {
  if (typeof given !== 'object' || given === null) return false;
  const { root, config, transition } = given as Partial<AnyStateMachine>;
  return isJsonObject(root) && isJsonObject(config) && typeof transition === 'function';
}

/** @param outer the states around it, the outermost first */
function checkNode(node: Node, outer: readonly Node[], tool: string): void {
  const refuse = (what: string) => {
    throw new TypeError(`The machine of ${tool} ${what}`);
  };
  const { ask } = (node.meta ?? {}) as WaitingMeta;
  const name = `the state "${node.id}"`;
  const { delays } = node.machine.implementations;
  for (const { delay } of node.after) {
    if (typeof delay !== 'string' || Object.hasOwn(delays, delay) || durationOf(delay)) continue;
    refuse(
      `would not wait: ${name} has the delay "${delay}", which is neither declared in its delays nor a time such as "24h"`,
    );
  }
  if (node.tags.includes(waiting)) {
    if (ask === undefined)
      refuse(`cannot be resumed: ${name} waits, and its meta.ask does not say for what`);
    const fault = typeof ask === 'function' ? undefined : validateQuestion(ask);
    if (fault !== undefined) refuse(`cannot ask: meta.ask of ${name} ${fault}`);
    const missed = missedBy(node, outer, ask as NonNullable<WaitingMeta['ask']>);
    if (missed !== undefined) {
      refuse(
        `would be stuck: ${name} goes nowhere from "${missed}". Give it, or a state around it, a transition for that event; "answer.*" stands for all that have none`,
      );
    }
  } else if (ask !== undefined) {
    refuse(`would never ask: ${name} has a meta.ask, and lacks the tag "${waiting}"`);
  }
  for (const child of Object.values(node.states)) checkNode(child, [...outer, node], tool);
}

/** An answer that a question can bring, and that no transition of the active states takes. */
function missedBy(
  node: Node,
  outer: readonly Node[],
  ask: NonNullable<WaitingMeta['ask']>,
): string | undefined {
  // A state beside it hears the answer as well, and so does one inside.
  const parallel = outer.find(({ type }) => type === 'parallel');
  const heard = [...outer.flatMap(eventsOf), ...within(parallel ?? node).flatMap(eventsOf)];
  const takes = (answer: string) => heard.some((descriptor) => covers(descriptor, answer));
  if (typeof ask !== 'function') return answersTo(ask).find((answer) => !takes(answer));
  // What it will ask is known when it asks.
  return answersOf.some(takes) ? undefined : 'answer.accepted';
}

function within(node: Node): readonly Node[] {
  return [node, ...Object.values(node.states).flatMap(within)];
}

function eventsOf({ transitions }: Node): readonly string[] {
  return [...transitions.keys()];
}

/** Whether a descriptor of XState's covers an event. */
function covers(descriptor: string, event: string): boolean {
  if (descriptor === '*' || descriptor === event) return true;
  return descriptor.endsWith('.*') && event.startsWith(descriptor.slice(0, -1));
}
