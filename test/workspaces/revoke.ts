/** A process beside the service, as the command line is: revokes the key named by its arguments. */
import { getRandomValues } from 'node:crypto';
import { join } from 'node:path';
import { createIdSource } from '../../src/model/ids.ts';
import { openManagement } from '../../src/store/management/management.ts';
import { systemClock } from '../../src/system-clock.ts';
import { openWorkspaceServices } from '../../src/workspaces/services.ts';

const [folder = '', keyId = ''] = process.argv.slice(2);
const store = openManagement(join(folder, 'management.mdb'));
const services = openWorkspaceServices({
  store,
  ids: createIdSource(systemClock, getRandomValues),
  clock: systemClock,
  randomBytes: getRandomValues,
  dataDir: folder,
});
await services.keys.revoke(1, keyId);
await services.close();
await store.close();
