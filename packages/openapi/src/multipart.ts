/**
 * `multipart/form-data` as bytes. The platform's `FormData` gives each part that has a media type a file name, so that
 * servers take JSON for an upload.
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
  /** Undefined unless the part is a file. */
  readonly filename?: string | undefined;
}

/**
 * Writes a form.
 *
 * @param mediaType the type of the whole, to which the boundary is added
 * @throws {ToolError} a part's media type is malformed
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
        `Content-Disposition: form-data; name="${quotable(name)}"${filename === undefined ? '' : `; filename="${quotable(filename)}"`}`,
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

/** As the HTML standard escapes names. */
function quotable(name: string): string {
  return name.replaceAll('"', '%22').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
}

function checkedType(type: string): string {
  if (/^[\w!#$&^.+-]+\/[\w!#$&^.+-]+(\s*;\s*[\w.-]+=("[^"\r\n]*"|[\w.+-]+))*$/.test(type))
    return type;
  throw new ToolError(
    `mimeType must be a media type such as "image/png", got ${JSON.stringify(type.slice(0, 100))}`,
  );
}
