/**
 * A process of its own that opens data files with LMDB, reads all of each and writes to it: where that ends the
 * process, the test sees it, and goes on.
 */
import { StoreEnvironment } from '../../../src/store/environment.ts';
import { change, createRandom, readAll } from './store-file.ts';

process.on('message', (path) => {
  void read(String(path)).then((answer) => process.send?.(answer));
});

async function read(path: string): Promise<object> {
  let environment: StoreEnvironment | undefined;
  try {
    environment = new StoreEnvironment(path);
    const contents = readAll(environment);
    const random = createRandom(1);
    for (let at = 0; at < 3; at++) await change(environment, random);
    readAll(environment);
    return contents;
  } catch (error) {
    return { error: String(error) };
  } finally {
    await environment?.close();
  }
}
