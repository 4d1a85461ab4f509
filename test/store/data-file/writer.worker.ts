/** Commits to a store until it is told to stop: a thread that ends in a transaction would leave the store locked. */
import { parentPort, workerData } from 'node:worker_threads';
import { StoreEnvironment } from '../../../src/store/environment.ts';
import { change, createRandom } from './store-file.ts';

const { path, commits }: { path: string; commits: Int32Array } = workerData;
const environment = new StoreEnvironment(path);
const random = createRandom(17);
const stopping = new AbortController();
parentPort?.once('message', () => stopping.abort());
parentPort?.postMessage('ready');
while (!stopping.signal.aborted) {
  await change(environment, random);
  Atomics.add(commits, 0, 1);
  Atomics.notify(commits, 0);
}
await environment.close();
