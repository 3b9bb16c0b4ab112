/** Declarations of `asking.mjs`, which the peers' servers load without a compiler. */
export declare const patienceMs: number;
export declare const longestLineBytes: number;
export declare const sampling: {
  readonly messages: readonly {
    readonly role: string;
    readonly content: { readonly type: string; readonly text: string };
  }[];
  readonly maxTokens: number;
};
export declare function askAll(
  count: number,
  concurrent: boolean,
  ask: () => Promise<number>,
): Promise<string>;
export declare function numberOfRoots(result: object): number;
export declare function numberOfSample(result: object): number;
export declare function filling(bytes: number): string;
