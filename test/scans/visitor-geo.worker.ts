/** A thread that opens the geo data it is handed, and looks up one address. */
import { parentPort, workerData } from 'node:worker_threads';
import { openGeo, type GeoData } from '../../src/scans/visitor/geo.ts';

interface Setup {
  readonly data: GeoData;
  readonly address: Uint8Array;
}

const { data, address }: Setup = workerData;
const { country } = openGeo(data).lookup(address, 0);
parentPort!.postMessage({ country });
