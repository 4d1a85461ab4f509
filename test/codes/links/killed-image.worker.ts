/** A process that is killed while it writes the image of its link table, or before it has said so in the store. */
import { getRandomValues } from 'node:crypto';
import { Codes } from '../../../src/codes/codes.ts';
import { createIdSource } from '../../../src/model/ids.ts';
import { Outbox } from '../../../src/outbox/outbox.ts';
import { openManagement } from '../../../src/store/management/management.ts';
import { systemClock } from '../../../src/system-clock.ts';
import type { Actor } from '../../../src/model/workspace.ts';
import { startTable } from './started-table.ts';

const [path = '', folder = '', id = '', moment = '', json = ''] = process.argv.slice(2);
const actor: Actor = JSON.parse(json);
const store = openManagement(path);
const ids = createIdSource(systemClock, getRandomValues);
const outbox = new Outbox(store, ids, systemClock);
const die = (): never => {
  process.kill(process.pid, 'SIGKILL');
  throw new Error('Cannot go on: killed');
};
let pieces = 0;
let isWritten = false;
const { codes, image } = await startTable({
  store: { ...store, next: (name) => (isWritten ? die() : store.next(name)) },
  folder,
  openCodes: (links) =>
    new Codes({
      store,
      outbox,
      links,
      ids,
      clock: systemClock,
      randomBytes: getRandomValues,
      shortUrlBase: 'http://localhost:8081',
      scansOf: () => 0,
    }),
  onPiece: async () => {
    if (pieces === Number(moment)) die();
    await codes.change(actor, id, { target: `https://example.com/${moment}/${pieces}` });
    pieces += 1;
  },
});
codes.links.loadLimited();
isWritten = moment === 'row';
await image.write();
process.exit(0);
