/** A running service that answers up to a step, reports that step, and hangs there. */
import { rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { createInterface } from 'node:readline';
import { dataFolderAt } from '../../../src/app/folder/data-folder.ts';
import { lockPath } from '../../../src/app/folder/folder-lock.ts';
import { accepted } from './conversation.ts';

const [path = '', step] = process.argv.slice(2);
const answers: Readonly<Record<string, object>> = {
  takeover: { ...accepted, pid: process.pid },
  ready: { type: 'yielded' },
  status: { type: 'running' },
  command: { type: 'started' },
};
const server = createServer((socket) => {
  socket.on('error', () => undefined);
  createInterface({ input: socket }).on('line', (line) => {
    const { type } = JSON.parse(line);
    const isReported = type === step;
    const answer = isReported && type !== 'command' ? undefined : answers[type];
    const report = (): void => void (isReported && process.send?.(type));
    if (answer === undefined) report();
    else socket.write(`${JSON.stringify(answer)}\n`, report);
  });
});
const lock = lockPath(dataFolderAt(path));
// A killed one leaves its name.
rmSync(lock, { force: true });
server.listen(lock, () => process.send?.('listening'));
