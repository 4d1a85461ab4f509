/** Two nodes over a real broker: one joins at the other, each sees the other's beats, and a move of links is followed. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { beginNats } from '../../../src/cluster/nats/nats-connection.ts';
import { Beats } from '../../../src/cluster/nodes/beats.ts';
import { answerJoins, joinCluster } from '../../../src/cluster/nodes/join.ts';
import { Registry } from '../../../src/cluster/nodes/registry.ts';
import { createIdSource } from '../../../src/model/ids.ts';
import { systemClock, systemTimers } from '../../../src/system-clock.ts';
import { createLog } from '../../../src/telemetry/log.ts';
import { temporaryManagement } from '../../store/temporary-management.ts';
import { startBrokers } from '../nats/brokers.ts';
import { findNatsServer, type NatsServer } from '../../../config/demo/nats-server.ts';
import { notRun } from '../nats/not-run.ts';

const found = await findNatsServer();

if ('missing' in found) {
  notRun('nodes', found);
} else {
  it('a node joins, is seen, and follows the links', async () => {
    await joinsAndFollows(found);
  });
}

const said = { redirects: true, url: '', version: '1' };

async function joinsAndFollows(server: NatsServer): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'qz-nodes-'));
  const brokers = await startBrokers({ count: 1, folder, server });
  const servers = brokers.urls;
  const core = beginNats({ servers, nodeName: 'a' });
  const edge = beginNats({ servers, nodeName: 'e' });
  const log = createLog('error', { write: () => undefined });
  const { store } = temporaryManagement();
  const ids = createIdSource(systemClock, (bytes) => bytes.fill(1));
  const links = { a: 0, e: 0 };
  const doubles: string[] = [];
  const begin = (name: 'a' | 'e', instance: string): Beats => {
    const beats = new Beats({
      connection: name === 'a' ? core : edge,
      timers: systemTimers,
      self: { ...said, name, instance, role: name === 'a' ? 'all' : 'edge' },
      onDouble: (detail) => void doubles.push(detail),
    });
    beats.start({
      linkNumber: () => links[name],
      journaled: () => ({ atMs: 0, tails: [] }),
    });
    return beats;
  };
  const ofCore = begin('a', 'n_1');
  const opened = { beats: [ofCore] };
  const instanceOf = (name: string): string | undefined => ofCore.instanceOf(name);
  const nodes = new Registry({ store, ids, clock: systemClock, instanceOf });
  try {
    await nodes.begin();
    answerJoins({
      connection: core,
      isLeading: () => true,
      join: (request) => nodes.join(request),
      tokenOf: (name) => name,
      cores: () => ['http://a'],
      log,
    });
    const request = { name: 'e', id: '', role: 'edge', threads: 2, cluster: '' } as const;
    const ask = { connection: edge, timers: systemTimers, log };
    const joined = await joinCluster({ ...ask, request: { ...request, instance: 'n_2' } });
    expect(joined).toMatchObject({ run: 1, journals: [1, 2], token: 'e', cores: ['http://a'] });

    const ofEdge = begin('e', 'n_2');
    opened.beats.push(ofEdge);
    await expect
      .poll(() => ofCore.instanceOf('e') !== undefined && ofEdge.instanceOf('a') !== undefined)
      .toBe(true);
    links.a = 7;
    ofCore.moved();
    const followed = ofCore.linksFollowed(7);
    links.e = 7;
    ofEdge.moved();
    expect(await followed).toBe(0);
    expect(await ofCore.linksFollowed(8, 20)).toBe(2);

    // A second machine under the name, which does not see the first one.
    opened.beats.push(begin('e', 'n_3'));
    await expect.poll(() => doubles, { timeout: 5_000 }).not.toEqual([]);
    expect(doubles[0]).toMatch(/^Cannot run as e: another process that started earlier/);
  } finally {
    for (const beats of opened.beats) beats.close();
    nodes.close();
    await core.close();
    await edge.close();
    await brokers.close();
    rmSync(folder, { recursive: true });
  }
}
