/** Skills: one with fixed texts in a directory, and one generated when read. */
import { defineSkill } from 'mcp-actors';

export const skills = [
  defineSkill({
    name: 'refunds',
    directory: 'acme/billing',
    description: 'Handles a refund as the company wants it',
    frontmatter: { license: 'MIT', metadata: { version: '1.0' } },
    instructions: 'Write [the letter](letters/asking.md).\n',
    files: { 'letters/asking.md': 'Dear colleague,\n' },
  }),
  defineSkill({
    name: 'clock',
    description: 'Tells the time of the server',
    instructions: 'Read time.txt.\n',
    files: { 'time.txt': () => new Date().toISOString() },
  }),
];
