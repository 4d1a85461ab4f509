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

type Rule = [
  body: (log: LogWriter) => Uint8Array,
  gives: Partial<Decision>,
  from?: 'lead' | 'part',
];

const rules: Record<string, Rule> = {
  // What is ignored.
  'bytes that are no entry': [() => Buffer.from('foreign'), ignored],
  'no bytes': [() => Buffer.alloc(0), ignored],
  'a beat of the former epoch': [(log) => log.body(beat, { epoch: 1 }), ignored],
  'the next number in the former epoch': [(log) => log.body(tx, { epoch: 1, n: 3 }), ignored],
  'a number further ahead in the former epoch': [
    (log) => log.body(tx, { epoch: 1, n: 9 }),
    ignored,
  ],
  'the newest entry again': [(log) => log.bodies.at(-1)!, ignored],
  'an older entry again': [(log) => log.bodies.at(-2)!, ignored],
  'the newest number with other writes': [
    (log) => log.body(tx, { n: 2, chain: otherChain }),
    ignored,
  ],
  'the lead of this epoch again': [(log) => log.bodies[2]!, ignored],
  'the lead of this epoch again, right behind it': [(log) => log.bodies[2]!, ignored, 'lead'],
  "another machine's lead of this epoch": [
    (log) => log.body(leadOf('c', 1), { epoch: 2, chain: otherChain }),
    ignored,
    'lead',
  ],
  'the lead of the former epoch again': [(log) => log.bodies[0]!, ignored],
  'a beat from before the newest entry': [(log) => log.body(beat, { n: 1 }), ignored],
  'a release of the former epoch': [(log) => log.body(release, { epoch: 1 }), ignored],
  'a release from before the newest entry': [(log) => log.body(release, { n: 1 }), ignored],
  'a newer version in the former epoch': [() => newer(1, 3), ignored],
  'a newer version with the newest number': [() => newer(2, 2), ignored],
  'a newer version with an older number': [() => newer(2, 1), ignored],
  'an unknown kind with the newest number': [(log) => unknown(log, 0), ignored],

  // What counts.
  'a beat': [(log) => log.body(beat), { kind: 'beat', count: 9 }],
  'a beat right behind the lead': [(log) => log.body(beat), { kind: 'beat', count: 9 }, 'lead'],
  'a beat between two parts': [(log) => log.body(beat), { kind: 'beat', count: 9 }, 'part'],
  'a release': [(log) => log.body(release), release],
  'a release right behind the lead': [(log) => log.body(release), release, 'lead'],
  'the next number': [(log) => log.body(tx), { kind: 'writes', parts: [bytes] }],
  'the first number': [(log) => log.body(tx), { kind: 'writes', parts: [bytes] }, 'lead'],
  'the first of two parts': [(log) => log.body(part(0, 2)), { kind: 'part' }],
  'the second of three parts': [(log) => log.body(part(1, 3)), { kind: 'part' }, 'part'],
  'the second of two parts': [
    (log) => log.body(part(1, 2)),
    { kind: 'writes', parts: [bytes, bytes] },
    'part',
  ],
  'the lead of the next epoch': [
    (log) => log.body(leadOf('c', 2)),
    { kind: 'lead', leader: leadOf('c', 2).leader },
  ],
  'a lead of who had applied fewer entries': [
    (log) => log.body(leadOf('c', 1), { chain: otherChain }),
    { kind: 'lead' },
  ],
  'a lead between two parts': [(log) => log.body(leadOf('c', 2)), { kind: 'lead' }, 'part'],

  // What only another log can have.
  'an epoch that skips one': [
    (log) => log.body(leadOf('c', 2), { epoch: 4 }),
    diverged('epoch 4 follows 2'),
  ],
  'a newer version in an epoch that skips one': [() => newer(4, 0), diverged('epoch 4 follows 2')],
  'the next epoch without its lead': [
    (log) => log.body(tx, { epoch: 3, n: 1 }),
    diverged('epoch 3 begins with tx 1, not with lead 0'),
  ],
  'a beat of the next epoch without its lead': [
    (log) => log.body(beat, { epoch: 3, n: 0 }),
    diverged('epoch 3 begins with beat 0, not with lead 0'),
  ],
  'a lead of the next epoch with a number': [
    (log) => log.body(leadOf('c', 2), { n: 1 }),
    diverged('epoch 3 begins with lead 1, not with lead 0'),
  ],
  'a lead of who had applied more entries': [
    (log) => log.body(leadOf('c', 3)),
    diverged('the leader of epoch 3 had applied other entries'),
  ],
  'a lead of who had applied as many, but others': [
    (log) => log.body(leadOf('c', 2), { chain: otherChain }),
    diverged('the leader of epoch 3 had applied other entries'),
  ],
  'a gap': [(log) => log.body(tx, { n: 4 }), diverged('entry 4 of epoch 2 follows 2')],
  'a gap before a beat': [
    (log) => log.body(beat, { n: 3 }),
    diverged('entry 3 of epoch 2 follows 2'),
  ],
  'a gap before a newer version': [() => newer(2, 4), diverged('entry 4 of epoch 2 follows 2')],
  'the next number with another chain': [
    (log) => log.body(tx, { chain: otherChain }),
    diverged('its leader had applied other entries before 3 of epoch 2'),
  ],
  'a beat with another chain': [
    (log) => log.body(beat, { chain: otherChain }),
    diverged('its leader had applied other entries before 2 of epoch 2'),
  ],
  'a release with another chain': [
    (log) => log.body(release, { chain: otherChain }),
    diverged('its leader had applied other entries before 2 of epoch 2'),
  ],
  'a gap before a release': [
    (log) => log.body(release, { n: 3 }),
    diverged('entry 3 of epoch 2 follows 2'),
  ],
  'a release of the next epoch without its lead': [
    (log) => log.body(release, { epoch: 3, n: 0 }),
    diverged('epoch 3 begins with release 0, not with lead 0'),
  ],
  'a second lead of this epoch': [
    (log) => log.body(leadOf('c', 2), { epoch: 2, n: 3 }),
    diverged('epoch 2 has two leads'),
  ],
  'a second part without the first': [
    (log) => log.body(part(1, 2)),
    diverged('part 1 of 2 comes after 0'),
  ],
  'a first part after a first part': [
    (log) => log.body(part(0, 2)),
    diverged('part 0 of 2 comes after 1'),
    'part',
  ],
  'a third part after the first': [
    (log) => log.body(part(2, 3)),
    diverged('part 2 of 3 comes after 1'),
    'part',
  ],
  'whole writes between two parts': [
    (log) => log.body(tx),
    diverged('part 0 of 1 comes after 1'),
    'part',
  ],

  // What this program is too old for.
  'a newer version with the next number': [() => newer(2, 3), { kind: 'newer', version: 2 }],
  'a newer version of the next lead': [() => newer(3, 0), { kind: 'newer', version: 2 }],
  'an unknown kind with the next number': [(log) => unknown(log, 1), { kind: 'newer', version: 1 }],
};

describe('what counts', () => {
  it.each(Object.entries(rules))('%s', (_, [body, gives, from]) => {
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
