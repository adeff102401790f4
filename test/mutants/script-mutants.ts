import { createHash } from 'node:crypto';
import { signInScripts } from '../../infra/redis/sign-in/sign-in-scripts.ts';
import { beatScript, lookScript } from '../../infra/redis/views/tags-at-once.ts';
import { commitScript, freeScript, type Script, takeScript } from '../../infra/redis/views/view-scripts.ts';
import { Lua } from '../simulator/lua.ts';

/** One small way to break a script that Redis runs. */
export interface ScriptMutant {
  name: string;
  /** Of a script of sign-in's state, which no simulated world runs. */
  isSignIn: boolean;
  /** Breaks the script, for all that this process does from now on. */
  apply(): void;
  restore(): void;
}

interface Scripted {
  source: string;
  set(source: string): void;
}

const viewScript = (script: Script): Scripted => ({
  source: script.source,
  set: (source) => Object.assign(script, { source, sha: createHash('sha1').update(source).digest('hex') }),
});

const scripts: Record<string, Scripted> = {
  commit: viewScript(commitScript),
  take: viewScript(takeScript),
  free: viewScript(freeScript),
  beat: viewScript(beatScript),
  look: viewScript(lookScript),
  ...Object.fromEntries(
    Object.entries(signInScripts).map(([name, script]) => [
      name,
      { source: script.lua, set: (lua: string) => void Object.assign(script, { lua }) },
    ]),
  ),
};

const turned: Record<string, string> = {
  '==': '~=',
  '~=': '==',
  '<=': '>',
  '>=': '<',
  '<': '>=',
  '>': '<=',
  and: 'or',
  or: 'and',
};
const comparison = /==|~=|<=|>=|<|>|\b(?:and|or)\b/g;

/** Strings are left out: `<` in one of them is no comparison. */
const isInString = (line: string, at: number): boolean => line.slice(0, at).split("'").length % 2 === 0;

function* brokenLines(line: string): Generator<{ how: string; broken: string }> {
  if (line.trim() === '' || line.trim().startsWith('--')) return;
  yield { how: 'out', broken: '' };
  for (const { 0: found, index } of line.matchAll(comparison)) {
    if (isInString(line, index)) continue;
    const broken = `${line.slice(0, index)}${turned[found]}${line.slice(index + found.length)}`;
    yield { how: `${found} turned at ${index + 1}`, broken };
  }
}

function isLua(source: string): boolean {
  try {
    new Lua(`return function()\n${source}\nend`, {});
    return true;
  } catch {
    return false;
  }
}

/** Each line out, and each comparison turned, where that leaves a script that Lua can read. */
export const scriptMutants: readonly ScriptMutant[] = Object.entries(scripts).flatMap(([name, { source, set }]) => {
  const lines = source.split('\n');
  return lines.flatMap((line, i) =>
    [...brokenLines(line)].flatMap(({ how, broken }) => {
      const text = lines.with(i, broken).join('\n');
      if (!isLua(text)) return [];
      return [
        {
          name: `${name}, line ${i + 1}, ${how}: ${line.trim()}`,
          isSignIn: name.startsWith('signIn'),
          apply: () => set(text),
          restore: () => set(source),
        },
      ];
    }),
  );
});
