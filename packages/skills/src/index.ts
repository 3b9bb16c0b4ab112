/** `mcp-actors/skills`: serves skills from a directory. */
export { SkillDirectory, skillsFrom } from './skill-directory.ts';
export type { SkillsFromOptions } from './skill-directory.ts';
