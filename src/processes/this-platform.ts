/** The system that this process runs on. */
import type { Platform } from './platform.ts';
import { posixPlatform } from './posix-platform.ts';
import { windowsPlatform, windowsTools } from './windows-platform.ts';

export const thisPlatform: Platform =
  process.platform === 'win32' ? windowsPlatform(windowsTools(process.env)) : posixPlatform;
