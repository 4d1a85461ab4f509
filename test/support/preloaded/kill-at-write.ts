/** Runs before the program, which is killed by itself when it has written KILL_AT_WRITE whole files. */
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

const { writeFileSync } = fs;
let left = Number(process.env['KILL_AT_WRITE']);

Object.assign(fs, {
  writeFileSync(...given: Parameters<typeof writeFileSync>) {
    writeFileSync(...given);
    left -= 1;
    if (left === 0) process.kill(process.pid, 'SIGKILL');
  },
});
syncBuiltinESMExports();
