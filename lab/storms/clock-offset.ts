/** Shifts this process's clock, like on a machine with a wrong time. */
export function setClockOff(offsetMs: number): void {
  const now = Date.now.bind(Date);
  Date.now = () => now() + offsetMs;
}
