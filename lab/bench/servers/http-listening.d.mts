/** Declarations of `http-listening.mjs`, which the peers' servers load without a compiler. */
import type { Server } from 'node:http';

interface Notification {
  readonly method: string;
  readonly params?: { readonly level: string; readonly data: string };
}

export declare function listen(server: Server, listening?: (url: string) => void): void;
export declare const sessionIdleMs: number;
export declare const listChanged: Notification;
export declare function logMessage(bytes: number): Notification;
