/**
 * Draws the machines as SVG, laid out by Graphviz through state-machine-cat. It runs when the docs are made (`npm run docs`), and what it
 * draws is kept in `src/inspect/charts/charts.ts`: so whoever shows a chart needs neither.
 */
import { render } from 'state-machine-cat';
import type { IState, IStateMachine, ITransition } from 'state-machine-cat';
import type { AnyStateMachine, AnyStateNode } from 'xstate';
import { charts, guardName } from '../src/inspect/charts/diagram.ts';
import type { DrawnTransition } from '../src/inspect/charts/diagram.ts';
import { readableEvent } from '../src/machines/xstate-events.ts';

/** Where the drawings are kept. */
export const chartsModule = new URL('../src/inspect/charts/charts.ts', import.meta.url);

/** The text of that module. */
export async function drawnCharts(): Promise<string> {
  const drawings: string[] = [];
  for (const [name, machine] of Object.entries(charts)) {
    drawings.push(`  ${name}: \`${await draw(machine)}\`,\n`);
  }
  return `/** The machines' charts as SVG without a style. Drawn from the code by \`npm run docs\`. */
import type { ChartName } from './diagram.ts';

export const chartDrawings: { readonly [name in ChartName]: string } = {
${drawings.join('')}};
`;
}

async function draw(machine: AnyStateMachine): Promise<string> {
  const { root } = machine;
  const chart: IStateMachine = {
    states: statesIn(root),
    transitions: numbered([...initials(root), ...descendants(root).flatMap(arrowsOf)]),
  };
  const svg = await render(chart, {
    inputType: 'json',
    outputType: 'svg',
    direction: 'top-down',
    dotGraphAttrs: [
      { name: 'bgcolor', value: 'transparent' },
      { name: 'nodesep', value: '0.3' },
      { name: 'ranksep', value: '0.35' },
      ...font,
    ],
    dotNodeAttrs: font,
    dotEdgeAttrs: font,
  });
  return tidied(svg);
}

/** Every monospaced font is as wide, so that what Graphviz leaves room for fits wherever it is shown. */
const font = [{ name: 'fontname', value: 'Courier' }];
const fontFamily = 'ui-monospace, SFMono-Regular, Menlo, Consolas, monospace';

function statesIn(parent: AnyStateNode): IState[] {
  const states = Object.values(parent.states).map((node): IState => {
    const children = statesIn(node);
    return {
      name: idOf(node),
      label: node.key,
      // A final state keeps its name: what it is called is what one looks for.
      type: node.type === 'parallel' ? 'parallel' : 'regular',
      class: `s-${idOf(node)}${node.type === 'final' ? ' final-state' : ''}`,
      ...(children.length > 0 ? { statemachine: { states: children } } : {}),
    };
  });
  // What is parallel begins everywhere.
  const begins = states.length > 0 && parent.type !== 'parallel';
  return begins ? [{ name: `${idOf(parent)}.initial`, type: 'initial' }, ...states] : states;
}

function initials(parent: AnyStateNode): Omit<ITransition, 'id'>[] {
  const targets = Object.keys(parent.states).length > 0 ? (parent.initial?.target ?? []) : [];
  return [
    ...targets.map((node) => ({ from: `${idOf(parent)}.initial`, to: idOf(node) })),
    ...Object.values(parent.states).flatMap(initials),
  ];
}

/** One arrow for each state that is led to, with every event that leads there. What leads nowhere is not drawn. */
function arrowsFrom(
  node: AnyStateNode,
  transitions: readonly DrawnTransition[],
): Omit<ITransition, 'id'>[] {
  const labels = new Map<string, string[]>();
  for (const { eventType, guard, target } of transitions) {
    for (const state of target ?? []) {
      const when = guard === undefined ? '' : ` [${guardName(guard)}]`;
      const to = idOf(state);
      labels.set(to, [...(labels.get(to) ?? []), `${readableEvent(eventType)}${when}`.trim()]);
    }
  }
  return [...labels].map(([to, texts]) => ({
    from: idOf(node),
    to,
    label: [...new Set(texts)].join('\n'),
    class: `t-${idOf(node)}--${to}`,
  }));
}

/** A state's own, and those that its compound parent has towards its own inside: an arrow from a box into itself is hard to read. */
function arrowsOf(node: AnyStateNode): Omit<ITransition, 'id'>[] {
  const isBox = Object.keys(node.states).length > 0;
  const own = leading(node).filter(
    ({ target }) => !isBox || !target?.some((state) => isWithin(state, node)),
  );
  return arrowsFrom(node, [...own, ...leadingInside(node)]);
}

/** All that leads out of a state, also without an event. */
function leading(node: AnyStateNode): DrawnTransition[] {
  const all: DrawnTransition[] = [...node.transitions.values(), ...(node.always ?? [])].flat();
  return all.filter(({ target }) => target);
}

/** What the parent leads into itself, where this state does not handle it otherwise; to the parent's first state where that is itself. */
function leadingInside(node: AnyStateNode): DrawnTransition[] {
  const { parent } = node;
  if (!parent?.parent) return [];
  return leading(parent)
    .filter(({ eventType }) => !node.transitions.has(eventType))
    .map((transition) => ({
      ...transition,
      target: transition.target?.flatMap((state) =>
        state === parent ? (parent.initial?.target ?? []) : [state],
      ),
    }))
    .filter(({ target }) => target?.every((state) => isWithin(state, parent) && state !== node));
}

function isWithin(state: AnyStateNode, outer: AnyStateNode): boolean {
  return state === outer || (state.parent !== undefined && isWithin(state.parent, outer));
}

function numbered(transitions: readonly Omit<ITransition, 'id'>[]): ITransition[] {
  return transitions.map((transition, id) => ({ ...transition, id }));
}

function descendants(node: AnyStateNode): AnyStateNode[] {
  return Object.values(node.states).flatMap((child) => [child, ...descendants(child)]);
}

/** The path of a state, as its class in the drawing ends. */
function idOf(node: AnyStateNode): string {
  return node.path.join('_');
}

/** Takes the colours of what it stands in, and has no ids, because several stand in one page. */
function tidied(svg: string): string {
  return (
    svg
      .replace(/^[^]*?(?=<svg)/, '')
      .replaceAll(
        /<!--[^]*?-->|<title>[^]*?<\/title>| xml:space="preserve"| xmlns:xlink="[^"]*"/g,
        '',
      )
      .replaceAll(/ id="[^"]*"/g, '')
      .replace(/<svg width="[^"]*" height="[^"]*"\s*/, '<svg ')
      .replace(/<polygon fill="(white|transparent)" stroke="none"[^>]*\/>/, '')
      .replaceAll('="black"', '="currentColor"')
      .replaceAll(/ font-family="[^"]*"/g, '')
      .replace('<svg ', `<svg font-family="${fontFamily}" `)
      .replaceAll(/&#45;/g, '-')
      .replaceAll(/( &#160;)+</g, '<')
      .replaceAll('<text ', '<text fill="currentColor" ')
      // What is written along an arrow keeps off it.
      .replaceAll(/ font-size="10.00">\s*/g, ' font-size="10.00" dx="4">')
      .replaceAll(/\s*\n\s*/g, '')
      // A box is filled where its state is active: its name is drawn over it.
      .replaceAll(
        /(<g class="node [^>]*>)((?:(?!<\/g>).)*)(<path [^>]*>)<\/g>/g,
        (_, open: string, rest: string, box: string) => `${open}${box}${rest}</g>`,
      )
      .trim()
  );
}
