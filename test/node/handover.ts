/** The lead goes from one core to the other as an operator wants it: by a command, by the API, and by a stop. */
import { expect } from 'vitest';
import type { ClusterStatus } from '../../src/cluster/control/cluster-status.ts';
import { shipped } from '../../src/shipped.ts';
import { word } from '../support/client.ts';
import { openReceiver } from '../support/fakes/receiver.ts';
import { pause, runCommand } from '../support/process.ts';
import { soon } from '../support/soon.ts';
import { idsSent, type StartedCluster, TestCode, type TestNode } from './started-cluster.ts';

const scanEveryMs = 10;

/** A command on the machine of a node. */
async function command(
  node: TestNode,
  ...words: string[]
): Promise<{ readonly code: number | null; readonly text: string }> {
  const { code, stdout, stderr } = await runCommand(['cluster', ...words], node.environment);
  return { code, text: `${stdout}${stderr}`.trim() };
}

async function statusOf(node: TestNode): Promise<ClusterStatus> {
  return JSON.parse((await command(node, 'status', '--json')).text);
}

const draft = { body: { target: 'https://example.com/' } };

async function create(node: TestNode, key: string): Promise<number> {
  const api = node.client(key);
  const { status } = await api.call('POST', '/v1/qr-codes', draft);
  await api.close();
  return status;
}

/** @returns how many were answered */
async function scanUntil(node: TestNode, path: string, signal: AbortSignal): Promise<number> {
  let count = 0;
  while (!signal.aborted) {
    await pause(scanEveryMs);
    if (typeof (await node.scan(path)) === 'string') count += 1;
  }
  return count;
}

/** By a command on the standby, and back by its API. */
export async function handsOver(cluster: StartedCluster, key: string): Promise<void> {
  const [leading, standby] = await cluster.roles();
  const { node: former } = await statusOf(leading);
  const { node: name, epoch } = await statusOf(standby);
  expect(await statusOf(leading)).toMatchObject({ role: 'active', problem: null, epoch });
  const { code, text } = await command(standby, 'status');
  expect(code).toBe(0);
  expect(text).toMatch(
    /^core-\d is a standby, in epoch \d at position \d+\ncore-\d leads, at http:/,
  );
  expect(text).toMatch(/core-\d +all +active +[\d.]+ +0 +\d+ +1 +\d/);
  expect(text).toMatch(/core-\d +all +connected +[\d.]+ +0 +\d+ +1 +\d/);
  const done = await command(standby, 'handover', '--to', name);
  expect(done).toEqual({
    code: 0,
    text: expect.stringMatching(new RegExp(`^${name} leads now: after \\d{1,4} ms$`)),
  });
  // The former leader has read its lead, and it may not have stored it yet.
  await expect
    .poll(() => statusOf(standby), soon)
    .toMatchObject({ role: 'active', epoch: epoch + 1 });
  const api = leading.client(key);
  const seen = async (): Promise<unknown> => (await api.call('GET', '/v1/cluster')).json;
  const node = { linksBehind: 0, version: shipped.version };
  await expect.poll(seen, soon).toMatchObject({
    node: name,
    leader: name,
    versions: null,
    nodes: [
      { ...node, name: 'core-1', state: name === 'core-1' ? 'active' : 'connected' },
      { ...node, name: 'core-2', state: name === 'core-2' ? 'active' : 'connected' },
      { ...node, name: 'edge-1', state: 'connected' },
    ],
  });
  expect((await api.call('GET', '/v1/session')).json).toMatchObject({ cluster: true });
  const back = await api.call('POST', '/v1/cluster/handover', { body: { to: former } });
  expect([back.status, back.json]).toEqual([200, { leader: former, ms: expect.any(Number) }]);
  await expect.poll(seen, soon).toMatchObject({ node: former, leader: former });
  expect(await cluster.roles()).toEqual([leading, standby]);
  await api.close();
}

export async function deliversOnce(cluster: StartedCluster, key: string): Promise<void> {
  const [first, second] = await cluster.roles();
  const api = first.client(key);
  const code = new TestCode((await api.call('POST', '/v1/qr-codes', draft)).json);
  const receiver = await openReceiver({ kind: 'answer' });
  // A new leader may send scans of the 2 s before the endpoint was made, which are of other codes.
  const received = (): number => new Set(idsSent(receiver, code)).size;
  const receives = async (more: number): Promise<void> => {
    const before = received();
    await expect.poll(received, soon).toBeGreaterThan(before + more);
  };
  const scanning = new AbortController();
  try {
    const body = { url: receiver.url(), events: ['qr.scanned'] };
    const endpoint = await api.call('POST', '/v1/webhooks', { body });
    expect(endpoint.status).toBe(201);
    const counts = [first, second].map((node) => scanUntil(node, code.shortCode, scanning.signal));
    for (let clean = 0; clean < 2;) {
      const [leading, standby] = await cluster.roles();
      await receives(50);
      // Events in flight at the handover may come twice, these have their answers by then.
      const settled = idsSent(receiver, code);
      await receives(20);
      const { epoch } = await statusOf(leading);
      expect(await command(leading, 'handover')).toMatchObject({ code: 0 });
      await receives(50);
      // A busy machine may lose its lease, and the next leader may repeat a minute of scans.
      if ((await statusOf(standby)).epoch !== epoch + 1) continue;
      expect(await cluster.roles()).toEqual([standby, leading]);
      const later = new Set(idsSent(receiver, code).slice(settled.length));
      expect(settled.filter((id) => later.has(id))).toEqual([]);
      clean += 1;
    }
    scanning.abort();
    const scans = (await Promise.all(counts)).reduce((sum, count) => sum + count, 0);
    await expect.poll(received, soon).toBe(scans);
    await api.call('DELETE', `/v1/webhooks/${word(endpoint.json['id'])}`);
    await api.close();
  } finally {
    scanning.abort();
    await receiver.close();
  }
}

/** @returns what runs */
export async function leaderLeaves(
  cluster: StartedCluster,
  key: string,
): Promise<readonly TestNode[]> {
  const [leading, standby] = await cluster.roles();
  const { node: name } = await statusOf(leading);
  const before = leading.service.stderr.length;
  expect(await leading.service.terminate()).toMatchObject({ code: 0 });
  expect(leading.service.stderr.slice(before)).toContain('the lead was given away');
  // Not after a lease: the other one leads when this one has ended, or a moment later.
  await expect.poll(() => statusOf(standby), soon).toMatchObject({ role: 'active' });
  await expect.poll(() => create(standby, key), soon).toBe(201);
  expect((await command(standby, 'handover')).text).toBe(
    'Cannot hand over: no other core is connected',
  );
  const left = await command(standby, 'leave', name);
  expect(left).toMatchObject({ code: 0 });
  expect(left.text).toMatch(new RegExp(`^${name} has left the cluster. .* its journals `));
  const { nodes } = await statusOf(standby);
  expect(nodes.map((node) => node.name)).not.toContain(name);
  return [standby, cluster.edge];
}
