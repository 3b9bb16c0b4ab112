/** A thing that is done over and over. */
export interface MicroCase {
  readonly name: string;
  /** How many messages one run handles: its time is divided by it. */
  readonly messages: number;
  /** What it gives is kept from being optimized away. */
  run(): unknown;
}
