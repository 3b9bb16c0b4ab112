/** A host that lists a server's skills and loads one. */
import type { Connection, ListedSkill } from 'mcp-actors/client';

// #region list
/** Descriptions of a server's skills for the model, enough to choose one. */
export async function skillsOf(shop: Connection): Promise<readonly ListedSkill[]> {
  const skills = await shop.skills.list();
  for (const { uri, frontmatter } of skills) {
    console.log(`${shop.name} has ${uri}: ${frontmatter.description}`);
  }
  return skills;
}
// #endregion

// #region load
/** Content for the model with its origin, after the user has agreed. */
export async function load(shop: Connection, skill: ListedSkill, path?: string): Promise<string> {
  const { uri, text } = await shop.skills.read(skill, path);
  return `${uri}, from the server ${shop.name}:\n\n${text}`;
}
// #endregion
