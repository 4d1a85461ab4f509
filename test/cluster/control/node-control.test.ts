/**
 * Requests between machines: the proof that one comes from a machine of the cluster, and commands of a core, which are run on the
 * core that leads.
 */
import { expect, test } from 'vitest';
import type { ChangingCommands } from '../../../src/app/commands/command-table.ts';
import { nodeTables } from '../../../src/cluster/control/node-commands.ts';
import { askCore, NodeControl } from '../../../src/cluster/control/node-control.ts';
import { MachineProof } from '../../../src/cluster/machine-proof.ts';
import { runCommand } from '../../../src/app/commands/host-commands.ts';
import { DataFolderError } from '../../../src/app/folder/data-folder.ts';
import type { Request } from '../../../src/platform/uws/request.ts';
import { Failure, invalid } from '../../../src/model/failure.ts';
import { createLog } from '../../../src/platform/log.ts';
import { TestClock } from '../../support/fakes/test-clock.ts';
import { listen, proofBy } from '../forward/forwarding-fixture.ts';

const path = '/cluster/command';
const { signal } = new AbortController();
const control = { progress: () => undefined, signal };

/** A core on a socket. */
async function openCore(role: 'active' | 'standby', leaderUrl?: string) {
  const clock = new TestClock();
  const proof = proofBy(clock);
  const ran: unknown[] = [];
  const logged: string[] = [];
  const refusal = invalid('name', 'too_long', 'Use 1 to 100 characters');
  const commands: ChangingCommands = {
    list: { changes: false, run: async () => [role] },
    change: { changes: true, run: async (input) => ({ by: role, count: ran.push(input) }) },
    refuse: { changes: true, run: () => Promise.reject(refusal) },
    crash: { changes: true, run: () => Promise.reject(new Error('a secret')) },
  };
  const leader = leaderUrl === undefined ? null : { name: 'a', url: leaderUrl };
  const status = () => ({ node: 'b', role, leader });
  const { own, others } = nodeTables(commands, { proof, status });
  const node = new NodeControl({
    proof,
    copy: () => ({ status: 200, headers: {}, body: 'copy' }),
    commands: () => others,
    docsUrl: 'http://docs',
    log: createLog('error', { write: (line) => void logged.push(line) }),
  });
  const missing = { status: 404, headers: {} };
  const server = await listen({
    handle: async (request: Request) => (await node.reply(request)) ?? missing,
    refuse: () => missing,
  });
  const url = `http://127.0.0.1:${server.port}`;
  const ask = (name: string, input: unknown = null) =>
    askCore({ url, proof, signal }, { type: 'command', name, input });
  return { url, clock, proof, ran, logged, own, ask };
}

test('a request without a proof of the machine, for its own path, is refused', async () => {
  const { url, proof, ran } = await openCore('active');
  const [command, copy] = [
    { method: 'POST', path },
    { method: 'GET', path: '/cluster/copy' },
  ];
  const body = JSON.stringify({ type: 'command', name: 'change', input: 1 });
  const send = async (target: typeof command, proven?: typeof command): Promise<number> => {
    const headers = proven && proof.headersOf(proven);
    const sent = { method: target.method, ...(headers && { headers }) };
    return (await fetch(url + target.path, target === command ? { ...sent, body } : sent)).status;
  };
  const refused = [send(command), send(copy), send(command, copy), send(copy, command)];
  expect(await Promise.all(refused)).toEqual([401, 401, 401, 401]);
  expect([await send(copy, copy), ran]).toEqual([200, []]);
  expect([await send(command, command), ran]).toEqual([200, [1]]);
});

test('a core runs a command of another core and answers with its result or its failure', async () => {
  const { url, proof, ask, logged } = await openCore('active');
  expect(await ask('list')).toEqual(['active']);
  // More than the limit of other requests.
  expect(await ask('change', 'x'.repeat(900_000))).toMatchObject({ by: 'active' });
  const faults = [{ path: 'name', code: 'too_long', message: 'Use 1 to 100 characters' }];
  await expect(ask('refuse')).rejects.toMatchObject({ code: 'validation_failed', faults });
  await expect(ask('unknown')).rejects.toThrow(DataFolderError);
  expect(logged).toEqual([]);
  await expect(ask('crash')).rejects.toThrow('its log has the reason');
  expect(logged).toHaveLength(1);
  const headers = proof.headersOf({ method: 'POST', path });
  const bad = await fetch(url + path, { method: 'POST', headers, body: '{}' });
  expect(bad.status).toBe(400);
  const stranger = new MachineProof(Buffer.alloc(32, 8), new TestClock());
  const command = { type: 'command', name: 'list', input: null } as const;
  await expect(askCore({ url, proof: stranger, signal }, command)).rejects.toMatchObject({
    code: 'not_active',
    message: expect.stringContaining('cluster.secret'),
  });
});

test('a standby passes a change on to the leader, once, and runs everything else itself', async () => {
  const leader = await openCore('active');
  const standby = await openCore('standby', leader.url);
  expect(await standby.own['list']?.(null, control)).toEqual(['standby']);
  expect(await standby.own['change']?.({ to: 'b' }, control)).toMatchObject({ by: 'active' });
  expect([standby.ran, leader.ran]).toEqual([[], [{ to: 'b' }]]);
  await expect(standby.own['refuse']?.(null, control)).rejects.toThrow('Use 1 to 100');
  const notLeading = { code: 'not_active', message: expect.stringContaining('a leads') };
  await expect(standby.ask('change')).rejects.toMatchObject(notLeading);
  expect(await standby.ask('list')).toEqual(['standby']);
  const other = await openCore('standby', standby.url);
  await expect(other.own['change']?.(null, control)).rejects.toMatchObject(notLeading);
  expect(await leader.own['change']?.(5, control)).toMatchObject({ by: 'active' });
});

test('a command that no leader answers', async () => {
  const none = await openCore('standby');
  await expect(none.own['change']?.(null, control)).rejects.toMatchObject({
    code: 'not_active',
    message: 'Cannot run this on b: no known core leads; run the command again',
  });
  const away = await openCore('standby', 'http://127.0.0.1:9');
  await expect(away.own['change']?.(null, control)).rejects.toMatchObject({
    code: 'outcome_unknown',
    message: expect.stringMatching(/^a, which leads, did not answer: .+\. Check whether/),
  });
  const hung = await listen({
    handle: () => Promise.withResolvers<never>().promise,
    refuse: () => ({ status: 404, headers: {} }),
  });
  const waiting = await openCore('standby', `http://127.0.0.1:${hung.port}`);
  const client = new AbortController();
  const command = { type: 'command', name: 'change', input: null } as const;
  const log = createLog('silent');
  const answer = runCommand(waiting.own, command, { ...control, signal: client.signal }, log);
  // The leader may have carried it out by now.
  client.abort(new Failure('not_active', 'The service stopped; run it again'));
  expect(await answer).toMatchObject({
    code: 'outcome_unknown',
    detail: expect.stringContaining('this node stopped first'),
  });
});

const request = { method: 'POST', path: '/v1/qr-codes' };
const clientAddress = '203.0.113.9';

function made(sent: { readonly clientAddress?: string } = { clientAddress }) {
  const clock = new TestClock();
  const proof = proofBy(clock);
  const headers = proof.headersOf({ ...request, ...sent });
  const received = (changed: Record<string, string> = {}, at: Partial<typeof request> = {}) => ({
    ...request,
    ...at,
    header: (name: string): string | undefined => ({ ...headers, ...changed })[name],
  });
  return { clock, proof, received, headers };
}

test('a proof names the client for 30 s, by clocks that differ either way', () => {
  const { clock, proof, received } = made();
  expect(proof.clientOf(received())).toBe(clientAddress);
  clock.move(29_000);
  expect(proof.clientOf(received())).toBe(clientAddress);
  clock.move(2_000);
  expect(proof.clientOf(received())).toBeUndefined();
  expect(proof.isForwarded(received())).toBe(true);
  const ahead = made();
  ahead.clock.step(-31_000);
  expect(ahead.proof.clientOf(ahead.received())).toBeUndefined();
});

test('a machine proves itself for 30 s; a request that it forwards does not', () => {
  const { clock, proof, received } = made({});
  expect([proof.isFromMachine(received()), proof.clientOf(received())]).toEqual([true, undefined]);
  const forwarded = made();
  expect(forwarded.proof.isFromMachine(forwarded.received())).toBe(false);
  const claimed = { 'x-quietzone-client': 'machine' };
  expect(forwarded.proof.isFromMachine(forwarded.received(claimed))).toBe(false);
  clock.move(31_000);
  expect(proof.isFromMachine(received())).toBe(false);
});

test('a proof covers the client, the method, the path and the time', () => {
  for (const sent of [{ clientAddress }, {}]) {
    const { proof, received, headers } = made(sent);
    const [seconds = '', digest = ''] = headers['x-quietzone-proof'].split('.');
    const others = [
      received({ 'x-quietzone-client': '203.0.113.10' }),
      received({}, { method: 'DELETE' }),
      received({}, { path: '/v1/qr-codes/bulk' }),
      received({ 'x-quietzone-proof': `${Number(seconds) + 1}.${digest}` }),
      received({ 'x-quietzone-proof': `${seconds}.${digest}A` }),
      received({ 'x-quietzone-proof': `${seconds}.` }),
      received({ 'x-quietzone-proof': '' }),
      { ...request, header: () => undefined },
    ];
    for (const other of others) {
      expect(proof.clientOf(other)).toBeUndefined();
      expect(proof.isFromMachine(other)).toBe(false);
      expect(proof.isForwarded(other)).toBe(false);
    }
  }
});
