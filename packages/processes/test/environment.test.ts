import { describe, expect, test } from 'vitest';
import { environmentFor, networkVariables } from '../src/environment.ts';

const own = {
  HOME: '/home/ada',
  PATH: '/bin',
  LANG: 'C',
  LC_ALL: 'C',
  LC_TIME: 'C',
  TMPDIR: '/tmp',
  AWS_SECRET_ACCESS_KEY: 'sesame',
  HTTPS_PROXY: 'http://proxy',
  NPM_TOKEN: 'sesame',
  NPM_CONFIG: 'x',
  SHELL: '() { :; }; exec something',
};

describe('the environment of a process', () => {
  test('contains what every process needs and no host secrets [PROC-06]', () => {
    const { HOME, PATH, LANG, LC_ALL, LC_TIME, TMPDIR } = own;
    // What old shells would run is left out.
    expect(environmentFor({}, false, own)).toEqual({ HOME, PATH, LANG, LC_ALL, LC_TIME, TMPDIR });
  });

  test('lets declared variables override and unset inherited ones', () => {
    const environment = environmentFor({ HOME: '/srv', KEY: 'k', PATH: undefined }, false, own);
    expect(environment).toMatchObject({ HOME: '/srv', KEY: 'k' });
    expect(environment).not.toHaveProperty('PATH');
  });

  test('inherits additional variables by name or prefix', () => {
    const names = ['HTTPS_PROXY', 'NPM_*'];
    const environment = environmentFor({}, names, own);
    expect(environment).toMatchObject({
      HTTPS_PROXY: 'http://proxy',
      NPM_TOKEN: 'sesame',
      NPM_CONFIG: 'x',
    });
    expect(environment).not.toHaveProperty('AWS_SECRET_ACCESS_KEY');
    expect(environmentFor({}, networkVariables, own)).toHaveProperty('HTTPS_PROXY');
  });

  test('inherits the whole host environment on request', () => {
    const { SHELL, ...rest } = own;
    expect(SHELL).toContain('()');
    expect(environmentFor({}, true, own)).toEqual(rest);
  });
});
