/** A running service that answers up to a step, reports that step, and hangs there. */
import { rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { createInterface } from 'node:readline';
import { dataFolderAt } from '../../../src/engine/data-folder.ts';
import { lockPath } from '../../../src/engine/takeover/folder-lock.ts';
import { accepted } from './conversation.ts';

const [path = '', step] = process.argv.slice(2);
const answers: Readonly<Record<string, object>> = {
  takeover: { ...accepted, pid: process.pid },
  ready: { type: 'yielded' },
};
const server = createServer((socket) => {
  socket.on('error', () => undefined);
  createInterface({ input: socket }).on('line', (line) => {
    const { type } = JSON.parse(line);
    if (type === step) process.send?.(type);
    else socket.write(`${JSON.stringify(answers[type])}\n`);
  });
});
const lock = lockPath(dataFolderAt(path));
// A killed one leaves its name.
rmSync(lock, { force: true });
server.listen(lock, () => process.send?.('listening'));
