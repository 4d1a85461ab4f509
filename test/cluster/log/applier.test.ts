import { describe, expect, it } from 'vitest';
import {
  Applier,
  type Decision,
  emptyPosition,
  type LogPosition,
} from '../../../src/cluster/log/applier.ts';
import {
  chainAfter,
  chainBytes,
  emptyChain,
  encodeWrites,
} from '../../../src/cluster/log/entry.ts';
import { packPlain } from '../../../src/store/codec.ts';
import { leadOf, LogWriter } from './log-writer.ts';

const otherChain = Buffer.alloc(chainBytes, 1);
const bytes = encodeWrites([['t', 1, Buffer.from('value')]])[0]!;
const tx = { kind: 'tx', part: 0, parts: 1, bytes } as const;
const part = (at: number, of: number) => ({ kind: 'tx', part: at, parts: of, bytes }) as const;
const beat = { kind: 'beat', count: 9 } as const;
const release = { kind: 'release', to: 'c' } as const;
/** Of a newer program, or of a kind that this one does not know. */
const newer = (epoch: number, n: number): Uint8Array => packPlain([2, epoch, n, 'unknown']);
const unknown = ({ epoch, n, chain }: LogWriter, ahead: number): Uint8Array =>
  packPlain([1, epoch, n + ahead, chain, 'migrate', 3]);

const ignored = { kind: 'ignored' } as const;
const known = { kind: 'known' } as const;
const diverged = (why: string) => ({ kind: 'diverged', why }) as const;

/** In epoch 2 of a log, behind its entry 2; `start` 'lead': right behind its lead; 'part': behind a first part of two. */
function startedAt(start: 'lead' | 'tx' | 'part'): { log: LogWriter; applier: Applier } {
  const log = new LogWriter();
  log.lead('a');
  log.tx();
  log.lead('b');
  if (start !== 'lead') log.tx();
  if (start === 'tx') log.tx();
  if (start === 'part') log.part(0, 2, bytes);
  const applier = new Applier(emptyPosition);
  for (const [at, body] of log.bodies.entries()) applier.accept(at + 1, body);
  expect(applier.position).toMatchObject({ epoch: 2, n: log.n, chain: log.chain });
  return { log, applier };
}

interface Rule {
  readonly body: (log: LogWriter) => Uint8Array;
  readonly gives: Partial<Decision>;
  readonly from?: 'lead' | 'part';
}

const rules: Record<string, Rule> = {
  // What is ignored.
  'bytes that are no entry': { body: () => Buffer.from('foreign'), gives: ignored },
  'no bytes': { body: () => Buffer.alloc(0), gives: ignored },
  'a beat of the former epoch': { body: (log) => log.body(beat, { epoch: 1 }), gives: ignored },
  'the next number in the former epoch': {
    body: (log) => log.body(tx, { epoch: 1, n: 3 }),
    gives: ignored,
  },
  'a number further ahead in the former epoch': {
    body: (log) => log.body(tx, { epoch: 1, n: 9 }),
    gives: ignored,
  },
  'the newest entry again': { body: (log) => log.bodies.at(-1)!, gives: ignored },
  'an older entry again': { body: (log) => log.bodies.at(-2)!, gives: ignored },
  'the newest number with other writes': {
    body: (log) => log.body(tx, { n: 2, chain: otherChain }),
    gives: ignored,
  },
  'the lead of this epoch again': { body: (log) => log.bodies[2]!, gives: ignored },
  'the lead of this epoch again, right behind it': {
    body: (log) => log.bodies[2]!,
    gives: ignored,
    from: 'lead',
  },
  "another machine's lead of this epoch": {
    body: (log) => log.body(leadOf('c', 1), { epoch: 2, chain: otherChain }),
    gives: ignored,
    from: 'lead',
  },
  'the lead of the former epoch again': { body: (log) => log.bodies[0]!, gives: ignored },
  'a beat from before the newest entry': {
    body: (log) => log.body(beat, { n: 1 }),
    gives: ignored,
  },
  'a release of the former epoch': {
    body: (log) => log.body(release, { epoch: 1 }),
    gives: ignored,
  },
  'a release from before the newest entry': {
    body: (log) => log.body(release, { n: 1 }),
    gives: ignored,
  },
  'a newer version in the former epoch': { body: () => newer(1, 3), gives: ignored },
  'a newer version with the newest number': { body: () => newer(2, 2), gives: ignored },
  'a newer version with an older number': { body: () => newer(2, 1), gives: ignored },
  'an unknown kind with the newest number': { body: (log) => unknown(log, 0), gives: ignored },

  // What counts.
  'a beat': { body: (log) => log.body(beat), gives: { kind: 'beat', count: 9 } },
  'a beat right behind the lead': {
    body: (log) => log.body(beat),
    gives: { kind: 'beat', count: 9 },
    from: 'lead',
  },
  'a beat between two parts': {
    body: (log) => log.body(beat),
    gives: { kind: 'beat', count: 9 },
    from: 'part',
  },
  'a release': { body: (log) => log.body(release), gives: release },
  'a release right behind the lead': {
    body: (log) => log.body(release),
    gives: release,
    from: 'lead',
  },
  'the next number': { body: (log) => log.body(tx), gives: { kind: 'writes', parts: [bytes] } },
  'the first number': {
    body: (log) => log.body(tx),
    gives: { kind: 'writes', parts: [bytes] },
    from: 'lead',
  },
  'the first of two parts': { body: (log) => log.body(part(0, 2)), gives: { kind: 'part' } },
  'the second of three parts': {
    body: (log) => log.body(part(1, 3)),
    gives: { kind: 'part' },
    from: 'part',
  },
  'the second of two parts': {
    body: (log) => log.body(part(1, 2)),
    gives: { kind: 'writes', parts: [bytes, bytes] },
    from: 'part',
  },
  'the lead of the next epoch': {
    body: (log) => log.body(leadOf('c', 2)),
    gives: { kind: 'lead', leader: leadOf('c', 2).leader },
  },
  'a lead of who had applied fewer entries': {
    body: (log) => log.body(leadOf('c', 1), { chain: otherChain }),
    gives: { kind: 'lead' },
  },
  'a lead between two parts': {
    body: (log) => log.body(leadOf('c', 2)),
    gives: { kind: 'lead' },
    from: 'part',
  },

  // What only another log can have.
  'an epoch that skips one': {
    body: (log) => log.body(leadOf('c', 2), { epoch: 4 }),
    gives: diverged('epoch 4 follows 2'),
  },
  'a newer version in an epoch that skips one': {
    body: () => newer(4, 0),
    gives: diverged('epoch 4 follows 2'),
  },
  'the next epoch without its lead': {
    body: (log) => log.body(tx, { epoch: 3, n: 1 }),
    gives: diverged('epoch 3 begins with tx 1, not with lead 0'),
  },
  'a beat of the next epoch without its lead': {
    body: (log) => log.body(beat, { epoch: 3, n: 0 }),
    gives: diverged('epoch 3 begins with beat 0, not with lead 0'),
  },
  'a lead of the next epoch with a number': {
    body: (log) => log.body(leadOf('c', 2), { n: 1 }),
    gives: diverged('epoch 3 begins with lead 1, not with lead 0'),
  },
  'a lead of who had applied more entries': {
    body: (log) => log.body(leadOf('c', 3)),
    gives: diverged('the leader of epoch 3 had applied other entries'),
  },
  'a lead of who had applied as many, but others': {
    body: (log) => log.body(leadOf('c', 2), { chain: otherChain }),
    gives: diverged('the leader of epoch 3 had applied other entries'),
  },
  'a gap': {
    body: (log) => log.body(tx, { n: 4 }),
    gives: diverged('entry 4 of epoch 2 follows 2'),
  },
  'a gap before a beat': {
    body: (log) => log.body(beat, { n: 3 }),
    gives: diverged('entry 3 of epoch 2 follows 2'),
  },
  'a gap before a newer version': {
    body: () => newer(2, 4),
    gives: diverged('entry 4 of epoch 2 follows 2'),
  },
  'the next number with another chain': {
    body: (log) => log.body(tx, { chain: otherChain }),
    gives: diverged('its leader had applied other entries before 3 of epoch 2'),
  },
  'a beat with another chain': {
    body: (log) => log.body(beat, { chain: otherChain }),
    gives: diverged('its leader had applied other entries before 2 of epoch 2'),
  },
  'a release with another chain': {
    body: (log) => log.body(release, { chain: otherChain }),
    gives: diverged('its leader had applied other entries before 2 of epoch 2'),
  },
  'a gap before a release': {
    body: (log) => log.body(release, { n: 3 }),
    gives: diverged('entry 3 of epoch 2 follows 2'),
  },
  'a release of the next epoch without its lead': {
    body: (log) => log.body(release, { epoch: 3, n: 0 }),
    gives: diverged('epoch 3 begins with release 0, not with lead 0'),
  },
  'a second lead of this epoch': {
    body: (log) => log.body(leadOf('c', 2), { epoch: 2, n: 3 }),
    gives: diverged('epoch 2 has two leads'),
  },
  'a second part without the first': {
    body: (log) => log.body(part(1, 2)),
    gives: diverged('part 1 of 2 comes after 0'),
  },
  'a first part after a first part': {
    body: (log) => log.body(part(0, 2)),
    gives: diverged('part 0 of 2 comes after 1'),
    from: 'part',
  },
  'a third part after the first': {
    body: (log) => log.body(part(2, 3)),
    gives: diverged('part 2 of 3 comes after 1'),
    from: 'part',
  },
  'whole writes between two parts': {
    body: (log) => log.body(tx),
    gives: diverged('part 0 of 1 comes after 1'),
    from: 'part',
  },

  // What this program is too old for.
  'a newer version with the next number': {
    body: () => newer(2, 3),
    gives: { kind: 'newer', version: 2 },
  },
  'a newer version of the next lead': {
    body: () => newer(3, 0),
    gives: { kind: 'newer', version: 2 },
  },
  'an unknown kind with the next number': {
    body: (log) => unknown(log, 1),
    gives: { kind: 'newer', version: 1 },
  },
};

describe('what counts', () => {
  it.each(Object.entries(rules))('%s', (_, { body, gives, from }) => {
    const { log, applier } = startedAt(from ?? 'tx');
    const former = applier.position;
    const next = body(log);
    const seq = former.seq + 5;
    const decision = applier.accept(seq, next);
    expect(decision).toMatchObject(gives);
    const doesMove = ['lead', 'part', 'writes'].includes(decision.kind);
    if (!doesMove) {
      expect(applier.position).toBe(former);
      return;
    }
    const isLead = decision.kind === 'lead';
    const position: LogPosition = {
      seq,
      epoch: isLead ? 3 : 2,
      n: isLead ? 0 : former.n + 1,
      chain: chainAfter(former.chain, next),
      before: former.chain,
      leader: decision.kind === 'lead' ? decision.leader : former.leader,
    };
    expect(applier.position).toEqual(position);
    if ('position' in decision) expect(decision.position).toBe(applier.position);
  });

  it('an empty machine takes the first lead, and nothing else', () => {
    const log = new LogWriter();
    const first = log.body(leadOf('a', 0));
    const kindOf = (body: Uint8Array): string => new Applier(emptyPosition).accept(7, body).kind;
    expect(kindOf(first)).toBe('lead');
    expect(kindOf(log.body(leadOf('a', 1)))).toBe('diverged');
    expect(kindOf(log.body(leadOf('a', 0), { chain: otherChain }))).toBe('diverged');
    expect(kindOf(log.body(tx, { epoch: 1 }))).toBe('diverged');
    expect(emptyPosition.chain).toEqual(emptyChain);
  });

  it('parts of a batch are dropped by a lead, and begin again after it', () => {
    const { log, applier } = startedAt('part');
    let seq = applier.position.seq;
    expect(applier.accept(++seq, log.lead('c')).kind).toBe('lead');
    expect(applier.accept(++seq, log.part(0, 2, bytes)).kind).toBe('part');
    const last = applier.accept(++seq, log.part(1, 2, bytes));
    expect(last).toMatchObject({ kind: 'writes', parts: [bytes, bytes] });
    // The next batch has only its own.
    expect(applier.accept(++seq, log.tx())).toMatchObject({ parts: [expect.anything()] });
  });
});

describe('reading from what is stored', () => {
  it('knows the entry of the stored position, and what is before', () => {
    const { log, applier } = startedAt('tx');
    const { position } = applier;
    const restarted = new Applier(position);
    expect(restarted.accept(position.seq - 1, Buffer.from('any'))).toEqual(known);
    expect(restarted.accept(position.seq, log.bodies.at(-1)!)).toEqual(known);
    expect(restarted.position).toBe(position);
  });

  it('finds that another entry stands at the stored position', () => {
    const { log, applier } = startedAt('tx');
    const { seq } = applier.position;
    const why = `entry ${seq} is not the one that was applied`;
    const bodies = [log.bodies[0]!, log.body(tx), newer(2, 2), Buffer.from('foreign')];
    for (const body of bodies) expect(applier.accept(seq, body)).toEqual(diverged(why));
  });

  it('reads the parts of a batch again', () => {
    const { log, applier } = startedAt('tx');
    const stored = applier.position;
    const parts = [0, 1, 2].map((at) => log.part(at, 3, bytes));
    const kinds = (from: number): string[] => {
      const restarted = new Applier(stored);
      return parts.map((body, at) => restarted.accept(from + at, body).kind);
    };
    expect(kinds(stored.seq + 1)).toEqual(['part', 'part', 'writes']);
    expect(kinds(stored.seq + 1)).toEqual(['part', 'part', 'writes']);
  });
});
