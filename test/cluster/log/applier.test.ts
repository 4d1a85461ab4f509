/** What counts of a log, entry by entry, and what only another log can have (src/cluster/log/applier.ts). */
import { describe, expect, it } from 'vitest';
import { Applier, type Decision, emptyPosition } from '../../../src/cluster/log/applier.ts';
import {
  chainAfter,
  chainBytes,
  emptyChain,
  encodeWrites,
  type EntryContent,
} from '../../../src/cluster/log/entry.ts';
import { packPlain } from '../../../src/store/codec.ts';
import { leadOf, LogWriter } from './log-writer.ts';

const otherChain = Buffer.alloc(chainBytes, 1);
const bytes = encodeWrites([['t', 1, Buffer.from('value')]])[0]!;

type Start =
  | 'behind entry 2 of epoch 2'
  | 'right behind the lead of epoch 2'
  | 'behind part 1 of 2';

/** In epoch 2 of a log. */
function startedAt(start: Start): { log: LogWriter; applier: Applier } {
  const log = new LogWriter();
  log.lead('a');
  log.tx();
  log.lead('b');
  if (start === 'behind part 1 of 2') log.part(0, 2, bytes);
  if (start === 'behind entry 2 of epoch 2') log.tx();
  if (start === 'behind entry 2 of epoch 2') log.tx();
  const applier = new Applier(emptyPosition);
  for (const [at, body] of log.bodies.entries()) applier.accept(at + 1, body);
  expect(applier.position).toMatchObject({ epoch: 2, n: log.n, chain: log.chain });
  return { log, applier };
}

const contents: Record<string, EntryContent> = {
  beat: { kind: 'beat', count: 9 },
  release: { kind: 'release', to: 'c' },
  tx: { kind: 'tx', part: 0, parts: 1, bytes },
  part1of2: { kind: 'tx', part: 0, parts: 2, bytes },
  part2of2: { kind: 'tx', part: 1, parts: 2, bytes },
  part2of3: { kind: 'tx', part: 1, parts: 3, bytes },
  part3of3: { kind: 'tx', part: 2, parts: 3, bytes },
};

/**
 * `tx 2.3` is the third entry of epoch 2; `lead 3.0 after 1` of a machine that had applied one entry of epoch 2; `other chain`:
 * of one that had applied other entries; `again -1`: the newest entry.
 */
function bodyOf(text: string, log: LogWriter): Uint8Array {
  const [kind = '', at = '', ...how] = text.split(' ');
  if (kind === 'bytes') return Buffer.from(at);
  if (kind === 'again') return log.bodies.at(Number(at))!;
  const [epoch, n] = at.split('.').map(Number) as [number, number];
  const chain = how.includes('chain') ? otherChain : log.chain;
  if (kind === 'newer') return packPlain([2, epoch, n, 'unknown']);
  if (kind === 'unknown') return packPlain([1, epoch, n, chain, 'migrate', 3]);
  const after = how[0] === 'after' ? Number(how[1]) : log.n;
  return log.body(contents[kind] ?? leadOf('c', after), { epoch, n, chain });
}

function textOf(decision: Decision): string {
  const { kind } = decision;
  if (kind === 'diverged') return `diverged: ${decision.why}`;
  if (kind === 'beat') return `beat ${decision.count}`;
  if (kind === 'release') return `release to ${decision.to}`;
  if (kind === 'lead') return `lead of ${decision.leader.owner}`;
  if (kind === 'newer') return `newer: ${decision.version}`;
  if (kind !== 'writes') return kind;
  expect(decision.parts).toEqual(decision.parts.map(() => bytes));
  return `writes of ${decision.parts.length}`;
}

const otherEntries = 'diverged: the leader of epoch 3 had applied other entries';
const rules: Record<Start, Record<string, string>> = {
  'behind entry 2 of epoch 2': {
    'bytes foreign': 'ignored',
    'bytes ': 'ignored',
    'again -1': 'ignored',
    'again -2': 'ignored',
    'again 2': 'ignored',
    'again 0': 'ignored',
    'beat 1.2': 'ignored',
    'release 1.2': 'ignored',
    'tx 1.3': 'ignored',
    'tx 1.9': 'ignored',
    'newer 1.3': 'ignored',
    'tx 2.2 other chain': 'ignored',
    'beat 2.1': 'ignored',
    'release 2.1': 'ignored',
    'newer 2.1': 'ignored',
    'newer 2.2': 'ignored',
    'unknown 2.2': 'ignored',

    'beat 2.2': 'beat 9',
    'release 2.2': 'release to c',
    'tx 2.3': 'writes of 1',
    'part1of2 2.3': 'part',
    'lead 3.0': 'lead of c',
    'lead 3.0 after 1 other chain': 'lead of c',

    // What only another log can have.
    'lead 4.0': 'diverged: epoch 4 follows 2',
    'newer 4.0': 'diverged: epoch 4 follows 2',
    'tx 3.1': 'diverged: epoch 3 begins with tx 1, not with lead 0',
    'beat 3.0': 'diverged: epoch 3 begins with beat 0, not with lead 0',
    'release 3.0': 'diverged: epoch 3 begins with release 0, not with lead 0',
    'lead 3.1': 'diverged: epoch 3 begins with lead 1, not with lead 0',
    'lead 3.0 after 3': otherEntries,
    'lead 3.0 after 2 other chain': otherEntries,
    'lead 2.3': 'diverged: epoch 2 has two leads',
    'tx 2.4': 'diverged: entry 4 of epoch 2 follows 2',
    'beat 2.3': 'diverged: entry 3 of epoch 2 follows 2',
    'release 2.3': 'diverged: entry 3 of epoch 2 follows 2',
    'newer 2.4': 'diverged: entry 4 of epoch 2 follows 2',
    'tx 2.3 other chain': 'diverged: its leader had applied other entries before 3 of epoch 2',
    'beat 2.2 other chain': 'diverged: its leader had applied other entries before 2 of epoch 2',
    'release 2.2 other chain': 'diverged: its leader had applied other entries before 2 of epoch 2',
    'part2of2 2.3': 'diverged: part 1 of 2 comes after 0',

    // What this program is too old for.
    'newer 2.3': 'newer: 2',
    'newer 3.0': 'newer: 2',
    'unknown 2.3': 'newer: 1',
  },
  'right behind the lead of epoch 2': {
    'again 2': 'ignored',
    'lead 2.0 after 1 other chain': 'ignored',
    'beat 2.0': 'beat 9',
    'release 2.0': 'release to c',
    'tx 2.1': 'writes of 1',
  },
  'behind part 1 of 2': {
    'beat 2.1': 'beat 9',
    'part2of3 2.2': 'part',
    'part2of2 2.2': 'writes of 2',
    'lead 3.0': 'lead of c',
    'part1of2 2.2': 'diverged: part 0 of 2 comes after 1',
    'part3of3 2.2': 'diverged: part 2 of 3 comes after 1',
    'tx 2.2': 'diverged: part 0 of 1 comes after 1',
  },
};

describe.each(Object.entries(rules))('%s', (start, cases) => {
  it.each(Object.entries(cases))('%s: %s', (entry, expected) => {
    const { log, applier } = startedAt(start as Start);
    const former = applier.position;
    const body = bodyOf(entry, log);
    const seq = former.seq + 5;
    const decision = applier.accept(seq, body);
    expect(textOf(decision)).toBe(expected);
    if (!['lead', 'part', 'writes'].includes(decision.kind)) {
      expect(applier.position).toBe(former);
      return;
    }
    const isLead = decision.kind === 'lead';
    expect(applier.position).toEqual({
      seq,
      epoch: isLead ? 3 : 2,
      n: isLead ? 0 : former.n + 1,
      chain: chainAfter(former.chain, body),
      before: former.chain,
      leader: isLead ? decision.leader : former.leader,
    });
    if ('position' in decision) expect(decision.position).toBe(applier.position);
  });
});

it('an empty machine takes the first lead, and nothing else', () => {
  const log = new LogWriter();
  const entries = ['lead 1.0', 'lead 1.0 after 1', 'lead 1.0 after 0 other chain', 'tx 1.1'];
  const kinds = entries.map(
    (entry) => new Applier(emptyPosition).accept(7, bodyOf(entry, log)).kind,
  );
  expect(kinds).toEqual(['lead', 'diverged', 'diverged', 'diverged']);
  expect(emptyPosition.chain).toEqual(emptyChain);
});

it('parts of a batch are dropped by a lead, and begin again after it', () => {
  const { log, applier } = startedAt('behind part 1 of 2');
  const bodies = [
    log.lead('c'),
    log.part(0, 2, bytes),
    log.part(1, 2, bytes),
    log.part(0, 1, bytes),
  ];
  const texts = bodies.map((body, at) => textOf(applier.accept(9 + at, body)));
  expect(texts).toEqual(['lead of c', 'part', 'writes of 2', 'writes of 1']);
});

it('a machine that reads again knows what it has stored, and finds another entry in its place', () => {
  const { log, applier } = startedAt('behind entry 2 of epoch 2');
  const { position } = applier;
  const restarted = new Applier(position);
  expect(restarted.accept(position.seq - 1, Buffer.from('any')).kind).toBe('known');
  expect(restarted.accept(position.seq, log.bodies.at(-1)!).kind).toBe('known');
  expect(restarted.position).toBe(position);
  for (const other of ['again 0', 'tx 2.3', 'newer 2.2', 'bytes foreign']) {
    const why = `diverged: entry ${position.seq} is not the one that was applied`;
    expect(textOf(restarted.accept(position.seq, bodyOf(other, log)))).toBe(why);
  }
  const parts = [0, 1, 2].map((at) => log.part(at, 3, bytes));
  for (const reader of [restarted, new Applier(position)]) {
    const kinds = parts.map((body, at) => reader.accept(position.seq + 1 + at, body).kind);
    expect(kinds).toEqual(['part', 'part', 'writes']);
  }
});
