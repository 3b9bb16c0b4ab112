/** XML request bodies, controlled by the `xml` objects of schemas. */
import { ToolError } from 'mcp-actors';
import type { JsonValue } from './document.ts';
import { wellFormed } from './media.ts';
import type { References } from './references.ts';

/** A schema merged with its `allOf` parts. */
interface MergedSchema {
  readonly xml: JsonValue;
  readonly properties: JsonValue;
  readonly items: unknown;
}

/**
 * Serializes a value as XML.
 *
 * @throws {ToolError} if a member's name is not a valid element name
 */
export function writeXml(value: unknown, schema: unknown, refs: References): string {
  const { $ref = '' } = (schema ?? {}) as { readonly $ref?: unknown };
  const [, component = 'root'] = /\/([\w.-]+)$/.exec(String($ref)) ?? [];
  const body = new XmlWriter(refs).elements(component, value, schema);
  return `<?xml version="1.0" encoding="UTF-8"?>${body}`;
}

class XmlWriter {
  readonly #refs: References;

  constructor(refs: References) {
    this.#refs = refs;
  }

  /** Serializes one element; one per item for an unwrapped list; none for null. */
  elements(name: string, value: unknown, schema: unknown): string {
    if (value === null || value === undefined) return '';
    const { xml, properties, items } = this.#merge(schema);
    if (Array.isArray(value)) {
      const wrapper = tagOf(name, xml);
      const isWrapped = xml['wrapped'] === true;
      const itemName = isWrapped ? wrapper : name;
      const written = value.map((each) => this.elements(itemName, each, items)).join('');
      return isWrapped ? element(wrapper, namespaceOf(xml), written) : written;
    }
    const tag = tagOf(name, xml);
    if (typeof value !== 'object') return element(tag, namespaceOf(xml), escapeXml(textOf(value)));
    let attributes = namespaceOf(xml);
    let content = '';
    for (const [member, each] of Object.entries(value)) {
      const own = properties[member];
      const { xml: memberXml } = this.#merge(own);
      if (memberXml['attribute'] !== true) content += this.elements(member, each, own);
      else if (each !== null) {
        attributes += ` ${tagOf(member, memberXml)}="${escapeXml(textOf(each))}"`;
      }
    }
    return element(tag, attributes, content);
  }

  #merge(schema: unknown, depth = 0): MergedSchema {
    const found = this.#refs.resolve(schema);
    const { allOf, properties, items } = found;
    const parts =
      Array.isArray(allOf) && depth < 16 ? allOf.map((each) => this.#merge(each, depth + 1)) : [];
    return {
      // One part's name applies to the whole only if it is the only part.
      xml: (found['xml'] ?? (parts.length === 1 ? parts[0]?.xml : undefined) ?? {}) as JsonValue,
      properties: Object.fromEntries(
        [...parts.map((part) => part.properties), properties ?? {}].flatMap(Object.entries),
      ) as JsonValue,
      items: items ?? parts.find((part) => part.items !== undefined)?.items,
    };
  }
}

function element(tag: string, attributes: string, content: string): string {
  return content === '' ? `<${tag}${attributes}/>` : `<${tag}${attributes}>${content}</${tag}>`;
}

function tagOf(member: string, { name, prefix }: JsonValue): string {
  const plain = typeof name === 'string' && name !== '' ? name : member;
  const tag = typeof prefix === 'string' && prefix !== '' ? `${prefix}:${plain}` : plain;
  if (/^[\p{L}_][\p{L}\p{N}\p{M}._-]*(:[\p{L}_][\p{L}\p{N}\p{M}._-]*)?$/u.test(tag)) return tag;
  throw new ToolError(
    `Member name must be a valid XML name, got ${JSON.stringify(tag.slice(0, 100))}`,
  );
}

function namespaceOf({ namespace, prefix }: JsonValue): string {
  if (typeof namespace !== 'string') return '';
  const suffix = typeof prefix === 'string' && prefix !== '' ? `:${prefix}` : '';
  return ` xmlns${suffix}="${escapeXml(namespace)}"`;
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

const entities: { readonly [character: string]: string } = {
  '<': '&lt;',
  '>': '&gt;',
  '&': '&amp;',
  '"': '&quot;',
  '\r': '&#13;',
};

/** XML 1.0 cannot represent other control characters or lone surrogates. */
function escapeXml(text: string): string {
  return wellFormed(text)
    .replaceAll(/(?![\t\n\r\u0080-\u009f])\p{Cc}|[\ufffe\uffff]/gu, '\ufffd')
    .replaceAll(/[<>&"\r]/g, (character) => entities[character] ?? character);
}
