import type { Open } from '../micro/session-subjects.ts';

export function openSdk1(): Open;
export function openSdk2(): Open;
