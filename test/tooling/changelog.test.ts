import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { notesOf, repeatedIn, withReleased } from '../../scripts/release/changelog.ts';

const changelog = `# Changelog

## Unreleased

### Added

- One thing that is new, which needs
  two lines.
- Another.

### Fixed

- A fault.

## 0.1.0 - 2026-01-02

### Added

- All of it.
`;

test('the changelog contains each section and entry once', () => {
  expect(repeatedIn(readFileSync('CHANGELOG.md', 'utf8'))).toEqual([]);
});

test('reports duplicate sections and entries, even if an entry differs at its end', () => {
  const twice = changelog.replace(
    '### Fixed',
    '- One thing that is new, which needs two lines and a half.\n\n### Added',
  );
  expect(repeatedIn(twice)).toEqual([
    'Unreleased has the section "Added" twice',
    'Unreleased has two entries that begin with "one thing that is new which needs two"',
  ]);
  expect(repeatedIn(changelog)).toEqual([]);
});

test('extracts the notes between a version and the next one', () => {
  expect(notesOf(changelog, '0.1.0')).toBe('### Added\n\n- All of it.');
  expect(notesOf(changelog, 'Unreleased')).toMatch(/^### Added\n[^]*- A fault\.$/);
  expect(notesOf(changelog, '0.1')).toBeUndefined();
});

test('gives the unreleased notes a version and a date once', () => {
  const released = withReleased(changelog, '0.2.0', '2026-02-03');
  expect(released).toBe(changelog.replace('## Unreleased', '## 0.2.0 - 2026-02-03'));
  expect(withReleased(released, '0.2.0', '2026-12-31')).toBe(released);
  expect(() => withReleased(released, '0.3.0', '2026-12-31')).toThrow(
    'CHANGELOG.md has neither 0.3.0 nor anything under "Unreleased"',
  );
});
