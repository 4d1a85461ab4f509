/** A thread that opens the geo data it is handed, and looks up one address. */
import { parentPort, workerData } from 'node:worker_threads';
import { Geo, type GeoData } from '../../../src/scans/visitor/geo/geo.ts';

interface Setup {
  readonly data: GeoData;
  readonly address: Uint8Array;
}

const { data, address }: Setup = workerData;
const { country } = new Geo(data).lookup(address, 0);
parentPort!.postMessage({ country });
