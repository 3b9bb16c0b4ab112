/**
 * Serialization of `multipart/form-data`. Servers mistake JSON parts of the platform's `FormData`
 * for uploads, because it adds a file name to every part with a media type.
 *
 * @see RFC 7578
 */
import { randomUUID } from 'node:crypto';
import { ToolError } from 'mcp-actors';

/** One part of a form. */
export interface FormPart {
  readonly name: string;
  readonly content: string | Uint8Array;
  /** Undefined for plain text. */
  readonly type?: string | undefined;
  /** Undefined for parts that are not files. */
  readonly filename?: string | undefined;
}

/**
 * Serializes a form.
 *
 * @param mediaType media type of the form, without a boundary
 * @throws {ToolError} if a part's media type is malformed
 */
export function writeForm(
  parts: readonly FormPart[],
  mediaType: string,
): { readonly type: string; readonly body: Uint8Array<ArrayBuffer> } {
  const boundary = `form-${randomUUID()}`;
  const chunks = parts.flatMap(({ name, content, type, filename }) => [
    Buffer.from(
      [
        `--${boundary}`,
        `Content-Disposition: form-data; name="${escapeName(name)}"${filename === undefined ? '' : `; filename="${escapeName(filename)}"`}`,
        ...(type === undefined ? [] : [`Content-Type: ${checkedType(type)}`]),
        '\r\n',
      ].join('\r\n'),
    ),
    Buffer.from(content as string),
    Buffer.from('\r\n'),
  ]);
  const body = Buffer.concat([...chunks, Buffer.from(`--${boundary}--\r\n`)]);
  const [plain = ''] = mediaType.split(';');
  return { type: `${plain.trim()}; boundary=${boundary}`, body };
}

/** Escapes names as the HTML standard does for form data. */
function escapeName(name: string): string {
  return name.replaceAll('"', '%22').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
}

function checkedType(type: string): string {
  if (/^[\w!#$&^.+-]+\/[\w!#$&^.+-]+(\s*;\s*[\w.-]+=("[^"\r\n]*"|[\w.+-]+))*$/.test(type))
    return type;
  throw new ToolError(
    `mimeType must be a media type such as "image/png", got ${JSON.stringify(type.slice(0, 100))}`,
  );
}
