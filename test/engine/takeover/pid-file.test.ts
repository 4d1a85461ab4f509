/** `service.pid` names the process that owns the data folder, while there is one. */
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { dataFolderAt } from '../../../src/engine/data-folder.ts';
import { removePidFile, writePidFile } from '../../../src/engine/takeover/pid-file.ts';
import { createLog } from '../../../src/telemetry/log.ts';
import { temporaryFolder } from '../../store/temporary-management.ts';

let path: string;
let logged: string[];
const log = createLog('info', { write: (line) => void logged.push(line) });
beforeEach(() => {
  path = temporaryFolder();
  logged = [];
});

test('the owner writes it in the form that systemd reads, for itself alone, and removes it', () => {
  const folder = dataFolderAt(path);
  writeFileSync(join(path, 'service.pid'), 'half');
  writePidFile(folder, log);
  expect(readFileSync(join(path, 'service.pid'), 'utf8')).toBe(`${process.pid}\n`);
  expect(statSync(join(path, 'service.pid')).mode & 0o777).toBe(0o600);
  removePidFile(folder);
  expect(readdirSync(path)).toEqual([]);
  expect(logged).toEqual([]);
  // A predecessor leaves the number of its successor.
  writeFileSync(join(path, 'service.pid'), '1\n');
  removePidFile(folder);
  expect(readdirSync(path)).toEqual(['service.pid']);
});

test('where it cannot be written a warning says what follows, and nothing fails', () => {
  mkdirSync(join(path, 'service.pid.new'));
  writePidFile(dataFolderAt(path), log);
  expect(logged.map((line) => JSON.parse(line))).toMatchObject([
    { level: 'warn', reason: 'EISDIR' },
  ]);
  removePidFile(dataFolderAt(join(path, 'away')));
});
