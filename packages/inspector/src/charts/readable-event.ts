/** Returns a readable name for XState's built-in events, and other event types unchanged. */
export function readableEvent(type: string): string {
  // XState gives eventless transitions an empty type.
  if (type === '') return 'always';
  const [source, kind, subject, name] = type.split('.');
  if (source !== 'xstate') return type;
  if (kind === 'after') return `after ${subject}`;
  if (subject === 'state') return 'done';
  if (subject !== 'actor') return `${kind} ${subject}`;
  return name === '*' ? 'actor failed' : `${name} ${kind === 'done' ? 'done' : 'failed'}`;
}
