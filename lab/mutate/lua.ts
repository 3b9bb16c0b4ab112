/**
 * Mutates Lua scripts that run inside Redis. As the scripts are texts, a fault is a modified text.
 */
import { createHash } from 'node:crypto';

/** One fault of a script: surrounding lines to locate it, and their mutated form. */
export interface LuaFault {
  readonly what: string;
  readonly before: string;
  readonly after: string;
}

const others: { readonly [operator: string]: string } = {
  '<': '<=',
  '<=': '<',
  '>': '>=',
  '>=': '>',
  '==': '~=',
  '~=': '==',
  'math.min': 'math.max',
  'math.max': 'math.min',
};

/** Faults of one line. */
function* brokenLines(line: string): Generator<readonly [what: string, text: string]> {
  const text = line.trim();
  // An endless loop would block Redis.
  if (text === '' || text.includes('${') || /^(while|--)|== 0 then break|\bfrom = /.test(text))
    return;
  if (/^(redis\.p?call|keep|changed|addSteps|table\.insert)\(|^\w+ = /.test(text)) {
    yield [`${text} → nothing`, ''];
  }
  for (const { 1: word = '', 2: condition = '', index } of line.matchAll(
    /\b(if|elseif) (.+?) then\b/g,
  )) {
    for (const other of ['true', 'false']) {
      const from = index + word.length + 1;
      const broken = line.slice(0, from) + other + line.slice(from + condition.length);
      yield [`${condition} → ${other}`, broken];
    }
  }
  for (const { 0: operator, index } of line.matchAll(
    /(?<=\s)(?:[<>]=?|[=~]=)(?=\s)|math\.(?:min|max)/g,
  )) {
    const broken = line.slice(0, index) + others[operator] + line.slice(index + operator.length);
    yield [`${operator} → ${others[operator]}, ${text}`, broken];
  }
}

/** Faults of a part of a script inside a template literal. */
export function luaFaultsOf(source: string): readonly (LuaFault & { readonly line: number })[] {
  const lines = source.split('\n');
  return lines.flatMap((line, at) => {
    const around = [lines[at - 1] ?? '', lines[at + 1] ?? ''].map((each) =>
      each.includes('${') ? undefined : each,
    );
    const whole = (text: string): string =>
      [around[0], text, around[1]].filter((each) => each !== undefined).join('\n');
    return [...brokenLines(line)].map(([what, text]) => ({
      line: at,
      what,
      before: whole(line),
      after: whole(text),
    }));
  });
}

interface Script {
  readonly text: string;
  readonly digest: string;
}

/** Applies the active fault to a script. */
export function brokenScript(
  script: Script,
  faults: ReadonlyMap<number, LuaFault>,
  isAwake: (fault: number) => boolean,
): Script {
  const textNow = (): string => {
    let { text } = script;
    for (const [number, { before, after }] of faults) {
      if (text.includes(before) && isAwake(number)) text = text.replace(before, () => after);
    }
    return text;
  };
  return {
    get text() {
      return textNow();
    },
    get digest() {
      return createHash('sha1').update(textNow()).digest('hex');
    },
  };
}
