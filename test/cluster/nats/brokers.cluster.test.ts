/** The harness of brokers with a real one: its path is cut and healed, and it leaves nothing behind. Faults are in nats-faults. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from '@nats-io/transport-node';
import { expect, it } from 'vitest';
import { findNatsServer, type NatsServer } from '../../../config/demo/nats-server.ts';
import { isListening } from '../../support/leaks.ts';
import { pause } from '../../support/process.ts';
import { startBrokers } from './brokers.ts';
import { CuttablePath } from './cuttable-path.ts';
import { notRun } from './not-run.ts';

async function cutAndHealed(server: NatsServer): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'qz-brokers-'));
  const brokers = await startBrokers({ count: 1, folder, server });
  const path = await CuttablePath.open(brokers.all.map(({ port }) => port));
  const client = await connect({ servers: [...path.urls] });
  try {
    expect(await client.rtt()).toBeGreaterThanOrEqual(0);
    path.cut();
    const answer = client.rtt();
    expect(await Promise.race([answer, pause(200)])).toBe(undefined);
    path.heal();
    expect(await answer).toBeGreaterThanOrEqual(200);
  } finally {
    await client.close();
    await path.close();
    await brokers.close();
  }
  for (const { port } of brokers.all) expect(await isListening(port)).toBe(false);
  rmSync(folder, { recursive: true });
}

const found = await findNatsServer();
if ('missing' in found) notRun('brokers', found);
else it('what passes to a broker can be cut and healed', () => cutAndHealed(found));
