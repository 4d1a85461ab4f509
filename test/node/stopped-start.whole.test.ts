/** A first start waits for brokers for as long as it takes, and ends at once when it is to stop. */
import { Writable } from 'node:stream';
import { expect, test } from 'vitest';
import type { openApp } from '../../src/app.ts';
import { loadConfig } from '../../src/config.ts';
import { openEdgeNode } from '../../src/node/edge-node.ts';
import { openCore } from '../../src/node/open-core.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { temporaryFolder } from '../cluster/links/feed-server.ts';
import { openFilesIn } from '../support/leaks.ts';
import { freePorts } from '../support/process.ts';

async function stopped(open: typeof openApp, role: 'all' | 'edge'): Promise<void> {
  const folder = temporaryFolder();
  const ports = await freePorts();
  const config = loadConfig(undefined, {
    QZ_DATA_DIR: folder,
    QZ_API_HOST: '127.0.0.1',
    QZ_API_PORT: String(ports.api),
    QZ_REDIRECT_HOST: '127.0.0.1',
    QZ_REDIRECT_PORT: String(ports.redirect),
    QZ_CLUSTER_ROLE: role,
    QZ_CLUSTER_NODE_NAME: 'n1',
    // Nobody listens there.
    QZ_CLUSTER_NATS: 'nats://127.0.0.1:1',
    QZ_CLUSTER_PLAIN_HTTP: 'true',
    ...(role === 'all' && { QZ_CLUSTER_SECRET: 'a secret of the cluster that is long enough' }),
  });
  const stopping = new AbortController();
  const reason = new Error('stopped');
  const log = createLog(
    'info',
    new Writable({
      write(chunk, _encoding, done) {
        if (String(chunk).includes('"waiting ')) stopping.abort(reason);
        done();
      },
    }),
  );
  await expect(open(config, log, { stopping: stopping.signal })).rejects.toBe(reason);
  expect(openFilesIn(folder)).toEqual([]);
}

test('openCore and openEdgeNode end while they wait for the brokers', async () => {
  await Promise.all([stopped(openCore, 'all'), stopped(openEdgeNode, 'edge')]);
});
