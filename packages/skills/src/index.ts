/** `mcp-actors/skills`: the skills that lie in a directory. */
export { SkillDirectory, skillsFrom } from './skill-directory.ts';
export type { SkillsFromOptions } from './skill-directory.ts';
