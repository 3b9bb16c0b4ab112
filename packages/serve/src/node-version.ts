/** The check of Node's version at a start. */

/** The oldest Node that is supported, as in `engines` of the manifest. */
const oldest = { major: 20, minor: 19 };

/**
 * Ends the process with 1 and one line on stderr if Node is too old to run the library.
 *
 * @param name the program that the line names
 */
export function refuseOldNode(name: string, version = process.versions.node): void {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major > oldest.major || (major === oldest.major && minor >= oldest.minor)) return;
  process.stderr.write(
    `${name} needs Node ${oldest.major}.${oldest.minor} or newer, got ${version}\n`,
  );
  process.exit(1);
}
