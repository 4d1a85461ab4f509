/**
 * Preloaded into the program by tests that kill it in the midst of something: it is killed by itself, in the call that
 * gives a file or folder the name KILL_AT, or that writes the last of KILL_AT_WRITE whole files, so it comes no further
 * however slow its test is.
 */
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

const path = process.env['KILL_AT'] ?? '';
let writesLeft = Number(process.env['KILL_AT_WRITE'] ?? Infinity);
const { mkdirSync, renameSync, writeFileSync } = fs;

const dieIf = (isTime: boolean): void => {
  if (isTime) process.kill(process.pid, 'SIGKILL');
};

Object.assign(fs, {
  mkdirSync(...given: Parameters<typeof mkdirSync>) {
    const made = mkdirSync(...given);
    dieIf(fs.existsSync(path));
    return made;
  },
  renameSync(...given: Parameters<typeof renameSync>) {
    renameSync(...given);
    dieIf(fs.existsSync(path));
  },
  writeFileSync(...given: Parameters<typeof writeFileSync>) {
    writeFileSync(...given);
    writesLeft -= 1;
    dieIf(writesLeft === 0);
  },
});
syncBuiltinESMExports();
