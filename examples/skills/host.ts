/** A host that shows which skills a server has, and loads one. */
import type { Connection, ListedSkill } from 'mcp-actors/client';

// #region list
/** What the model is told of a server's skills: enough to choose one. */
export async function skillsOf(shop: Connection): Promise<readonly ListedSkill[]> {
  const skills = await shop.skills.list();
  for (const { uri, frontmatter } of skills) {
    console.log(`${shop.name} has ${uri}: ${frontmatter.description}`);
  }
  return skills;
}
// #endregion

// #region load
/** Once the user has agreed: what the model reads, with where it comes from. */
export async function load(shop: Connection, skill: ListedSkill, path?: string): Promise<string> {
  const { uri, text } = await shop.skills.read(skill, path);
  return `${uri}, from the server ${shop.name}:\n\n${text}`;
}
// #endregion
