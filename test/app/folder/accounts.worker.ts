/** Moves balances between accounts, a transaction each, until it is told to stop: pages change, the sum does not. */
import { parentPort, workerData } from 'node:worker_threads';
import { StoreEnvironment } from '../../../src/store/environment.ts';

export interface AccountsOrder {
  readonly path: string;
  readonly accounts: number;
  /** One 32-bit counter of commits. */
  readonly commits: SharedArrayBuffer;
}
export type Account = readonly [balance: number, text: string];

const order: AccountsOrder = workerData;
const commits = new Int32Array(order.commits);
const environment = new StoreEnvironment(order.path);
const table = environment.table<number, Account>('accounts');
let isOn = true;
parentPort?.once('message', () => (isOn = false));

function move(): void {
  const commit = Atomics.load(commits, 0);
  const changes = [
    [(commit * 7_919) % order.accounts, -1],
    [(commit * 104_729 + 1) % order.accounts, 1],
  ] as const;
  environment.transactionSync(() => {
    for (const [no, change] of changes) {
      table.put(no, [(table.get(no)?.[0] ?? 0) + change, 'y'.repeat(commit % 900)]);
    }
  });
  Atomics.add(commits, 0, 1);
  if (isOn) setImmediate(move);
  else void environment.close();
}
move();
