import type { RequestListener } from 'node:http';

export declare const app: RequestListener;
