/** Nodes that refuse scans without contact: none leads to the old target once a change was answered. */
import { expect, test } from 'vitest';
import { type Beat, encodeBeat, type NodeStart } from '../../../src/cluster/nodes/beat-message.ts';
import { Confirmations } from '../../../src/cluster/nodes/confirmations.ts';
import {
  encodeContactAnswer,
  readContactAnswer,
} from '../../../src/cluster/nodes/contact-message.ts';
import { LinkContact } from '../../../src/cluster/nodes/link-contact.ts';
import { LinkPermission } from '../../../src/links/permission.ts';
import { VirtualTime } from '../simulation/virtual-time.ts';
import { ContactSimulation } from './contact-simulation.ts';

const seeds = 40;
const faultsMs = 30_000;

test(`${seeds} seeds: no scan is led to a target that an answered change has replaced`, async () => {
  const sum = { changes: 0, leads: 0, redirected: 0, refused: 0, older: 0 };
  for (let seed = 1; seed <= seeds; seed++) {
    const result = await new ContactSimulation(seed).run(faultsMs);
    const { stale, refusing } = result;
    // Once all has healed every node redirects, and changes are answered as before.
    expect({ seed, stale, refusing }).toEqual({ seed, stale: [], refusing: [] });
    expect(result.lastWaitedMs).toBeLessThan(1_500);
    for (const name of ['changes', 'leads', 'redirected', 'refused', 'older'] as const) {
      sum[name] += result[name];
    }
  }
  // What could go wrong did come up.
  expect(sum.changes).toBeGreaterThan(2_000);
  expect(sum.leads).toBeGreaterThan(1.5 * seeds);
  expect(sum.redirected).toBeGreaterThan(200_000);
  expect(sum.refused).toBeGreaterThan(50_000);
  expect(sum.older).toBeGreaterThan(10_000);
});

const edge: NodeStart = {
  name: 'e',
  instance: 'n_1',
  role: 'edge',
  redirects: true,
  url: '',
  refuses: true,
};

/** A core, and beats that come to it. */
function core(refuses = true) {
  const time = new VirtualTime();
  const startMs = time.nowMs;
  const lead = { epoch: 1 as number | undefined };
  let receive: (bytes: Uint8Array, subject: string) => Promise<Uint8Array | undefined>;
  const confirmations = new Confirmations({
    connection: {
      answer: (_, answer) => {
        receive = answer;
        return () => undefined;
      },
    },
    timers: { monotonicMs: () => time.nowMs, after: time.later },
    refuses,
    epoch: () => lead.epoch,
    lastLink: () => 0,
  });
  const beat = async (linkNumber: number, more: Partial<Beat> = {}): Promise<string> => {
    const sentMs = time.nowMs;
    const sent = { ...edge, linkNumber, isLast: false, sentMs, ...more };
    const bytes = await receive(encodeBeat(sent), `qz.edge.${sent.name}.beat`);
    if (bytes === undefined) return 'no answer';
    return readContactAnswer(bytes)?.isConfirmed === true ? 'confirmed' : 'not confirmed';
  };
  const answered = (number: number): { atMs?: number } => {
    const answer: { atMs?: number } = {};
    void confirmations.followed(number).then(() => (answer.atMs = time.nowMs - startMs));
    return answer;
  };
  return { beat, answered, lead, until: (ms: number) => time.run(startMs + ms) };
}

test('a new leader answers its first change 2.2 s after its lease began', async () => {
  const { beat, answered, until } = core();
  expect(await beat(0)).toBe('confirmed');
  const change = answered(0);
  await until(5_000);
  expect(change.atMs).toBe(2_200);
});

test('a change waits for a confirmed node until it has it, is over, or says that it ends', async () => {
  const { beat, answered, until } = core();
  await until(2_990);
  await beat(0, { name: 'x' });
  await until(3_000);
  // Nothing of that epoch was known before: its lease begins with the first beat here.
  await until(6_000);
  await beat(0);
  const followed = answered(1);
  await until(6_010);
  await beat(1);
  await until(6_020);
  const cut = answered(2);
  await until(9_000);
  await beat(2);
  const ended = answered(3);
  await until(9_005);
  await beat(2, { isLast: true });
  await until(9_010);
  expect([followed.atMs, cut.atMs, ended.atMs]).toEqual([6_010, 8_210, 9_005]);
});

test('a node that sends beats and does not follow is confirmed for 0.5 s, and then not until it has', async () => {
  const { beat, answered, until } = core();
  await beat(0);
  await until(4_000);
  await beat(0);
  const change = answered(1);
  await until(4_499);
  expect(await beat(0)).toBe('confirmed');
  await until(4_600);
  expect(await beat(0)).toBe('not confirmed');
  await until(6_000);
  expect(await beat(0)).toBe('not confirmed');
  await until(6_800);
  expect(change.atMs).toBe(6_699);
  const next = answered(2);
  await until(6_801);
  expect(next.atMs).toBeLessThan(6_802);
  expect(await beat(1)).toBe('not confirmed');
  expect(await beat(2)).toBe('confirmed');
});

test('a core without the lease leaves beats to others; one that serves old links confirms all', async () => {
  const refusing = core();
  refusing.lead.epoch = undefined;
  expect(await refusing.beat(9)).toBe('no answer');
  const serving = core(false);
  expect(await serving.beat(0)).toBe('confirmed');
  const change = serving.answered(5);
  await serving.until(1);
  expect(change.atMs).toBeLessThan(2);
  expect(await serving.beat(0, { refuses: false })).toBe('no answer');
});

test('a permission ends 2 s after its beat was sent, also where the answer is late', async () => {
  const time = new VirtualTime();
  const startMs = time.nowMs;
  const nanoseconds = (): bigint => BigInt(time.nowMs) * 1_000_000n;
  const permission = new LinkPermission(nanoseconds);
  const answer = { isConfirmed: true, refuses: true, lateMs: 300 };
  let linkNumber = 7;
  const contact = new LinkContact({
    connection: {
      request: () =>
        new Promise((resolve, reject) => {
          const bytes = encodeContactAnswer(answer);
          if (answer.lateMs < Infinity) time.later(answer.lateMs, () => resolve(bytes));
          else time.later(2_000, () => reject(new Error('no answer')));
        }),
    },
    timers: { monotonicMs: () => time.nowMs, after: time.later },
    nanoseconds,
    beat: () => ({ ...edge, linkNumber, isLast: false }),
    permission,
  });
  const isOverAt = async (ms: number): Promise<boolean> => {
    await time.run(startMs + ms);
    return permission.isOver;
  };
  expect(contact.problem).toContain('no core that leads has answered');
  expect([await isOverAt(299), await isOverAt(301)]).toEqual([true, false]);
  expect([contact.problem, contact.mismatch]).toEqual([undefined, undefined]);
  await time.run(startMs + 1_100);
  answer.lateMs = Infinity;
  // Of the beat that was sent after 1 s.
  expect([await isOverAt(2_999), await isOverAt(3_000)]).toEqual([false, true]);
  answer.lateMs = 0;
  expect(await isOverAt(3_501)).toBe(false);
  // All links come anew.
  linkNumber = 0;
  answer.isConfirmed = false;
  answer.refuses = false;
  contact.moved();
  expect(permission.isOver).toBe(true);
  // What was asked before and is answered by nobody says nothing newer.
  expect(await isOverAt(4_100)).toBe(true);
  expect(contact.problem).toContain('behind');
  expect(contact.mismatch).toContain('serve on the leading core');
  answer.isConfirmed = true;
  linkNumber = 8;
  expect(await isOverAt(5_101)).toBe(false);
  permission.revoke();
  contact.moved();
  expect(await isOverAt(5_102)).toBe(false);
  contact.close();
  expect(permission.isOver).toBe(true);
});
