/** A repeated operation. */
export interface MicroCase {
  readonly name: string;
  /** Messages per run, by which its time is divided. */
  readonly messages: number;
  /** Returns a value to prevent dead code elimination. */
  run(): unknown;
}
