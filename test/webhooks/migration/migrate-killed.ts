/**
 * Opens a delivery store as the service does, and kills its own process at a transaction: `inside` it, with everything
 * written and nothing committed, or `behind` it.
 *
 *   node migrate-killed.ts <file> <transaction, from 1> inside|behind
 */
import { openDeliveryTables } from '../../../src/store/delivery/open-delivery.ts';
import { StoreEnvironment } from '../../../src/store/environment.ts';

const [, , file = '', at, where] = process.argv;
// oxlint-disable-next-line typescript/unbound-method
const run = StoreEnvironment.prototype.transactionSync;
const die = (): void => void process.kill(process.pid, 'SIGKILL');
let transactions = 0;

StoreEnvironment.prototype.transactionSync = function <T>(this: StoreEnvironment, work: () => T) {
  const isIt = ++transactions === Number(at);
  const result = run.call(this, () => {
    const done = work();
    if (isIt && where === 'inside') die();
    return done;
  });
  if (isIt) die();
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return result as T;
};
const { environment } = openDeliveryTables(file);
await environment.close();
