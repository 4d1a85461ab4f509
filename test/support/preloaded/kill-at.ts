/**
 * Preloaded into the program by tests that kill it in the midst of something: it is killed by itself, in the call that
 * gives a file or folder the name KILL_AT, so it comes no further however slow its test is.
 */
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

const path = process.env['KILL_AT'] ?? '';
const { mkdirSync, renameSync } = fs;

const dieIfThere = (): void => {
  if (fs.existsSync(path)) process.kill(process.pid, 'SIGKILL');
};

Object.assign(fs, {
  mkdirSync(...given: Parameters<typeof mkdirSync>) {
    const made = mkdirSync(...given);
    dieIfThere();
    return made;
  },
  renameSync(...given: Parameters<typeof renameSync>) {
    renameSync(...given);
    dieIfThere();
  },
});
syncBuiltinESMExports();
