/** Sets this process's clock off, as on a machine whose time is wrong. */
export function setClockOff(offsetMs: number): void {
  const now = Date.now.bind(Date);
  Date.now = () => now() + offsetMs;
}
