/** The thread that transfers scans, which dies when it is told to: by the name of its node. */
import { workerData } from 'node:worker_threads';

await import('../../../src/cluster/scans/scan-transfer.worker.ts');
const channel = new BroadcastChannel('kill-transfer');
channel.unref();
channel.onmessage = ({ data }) => {
  if (data === workerData.nats.nodeName) process.exit(1);
};
