/** The first part of a takeover, by a test: asks the service that runs, and may let it yield. */
import { openDataFolder } from '../../../src/engine/data-folder.ts';
import { PredecessorConnection } from '../../../src/engine/takeover/predecessor-connection.ts';
import { deliveryVersion } from '../../../src/store/delivery/delivery.ts';
import { managementVersion } from '../../../src/store/management/management.ts';
import { scansVersion } from '../../../src/store/scans/scans.ts';
import { createLog } from '../../../src/telemetry/log.ts';

/** What a successor has that says what it should, and never serves. */
export async function findPredecessor(dataDir: string): Promise<PredecessorConnection> {
  const dataVersions = {
    management: managementVersion.version,
    scans: scansVersion.version,
    delivery: deliveryVersion.version,
  };
  const hello = { release: '1.0.0', dataVersions };
  const log = createLog('fatal', process.stderr);
  const predecessor = await PredecessorConnection.find(openDataFolder(dataDir), hello, log);
  if (predecessor === undefined) throw new Error('no service to take over from');
  return predecessor;
}
