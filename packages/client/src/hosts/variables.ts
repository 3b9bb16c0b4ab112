/** Expands environment variables in a configuration. */

/** Source of variables, such as `process.env`. */
export type EnvironmentVariables = { readonly [name: string]: string | undefined };

export type Expansion =
  | { readonly ok: true; readonly text: string }
  /** Missing variables, with advice. Contains no values. */
  | { readonly ok: false; readonly problem: string };

const place = /(\$?)\$\{([^}]*)\}/g;
const named = /^(?:env:)?([A-Za-z_]\w*)(?::-(.*))?$/s;

/**
 * Expands `${NAME}`, and `${NAME:-default}` for a variable that is unset or empty. `${env:NAME}`
 * equals `${NAME}`, and `$${…}` is an escaped `${…}`.
 */
export function expand(text: string, environment: EnvironmentVariables): Expansion {
  const problems: string[] = [];
  const expanded = text.replace(place, (written: string, escape: string, inside: string) => {
    if (escape !== '') return written.slice(1);
    const [, name, byDefault] = named.exec(inside) ?? [];
    if (name === undefined) {
      const host = inside.startsWith('input:') ? ': only VS Code asks for inputs' : '';
      problems.push(
        `\${${inside.slice(0, 60)}} is no variable of the environment${host}. Write \${NAME} or \${NAME:-default}, or $\${…} for the text itself`,
      );
      return '';
    }
    const value = environment[name];
    if (value) return value;
    if (byDefault !== undefined) return byDefault;
    if (value === undefined) {
      problems.push(
        `the variable ${name} is not set. Set it, or write a default: \${${name}:-default}`,
      );
    }
    return '';
  });
  return problems.length === 0
    ? { ok: true, text: expanded }
    : { ok: false, problem: problems.join('; ') };
}
