/** Machines that read the same log, of any leaders, come to the same state (src/cluster/log/applier.ts). */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Applier, emptyPosition, type LogPosition } from '../../../src/cluster/log/applier.ts';
import {
  chainBytes,
  decodeWrites,
  encodeWrites,
  readEntry,
} from '../../../src/cluster/log/entry.ts';
import { leadOf, LogWriter } from './log-writer.ts';

const otherChain = Buffer.alloc(chainBytes, 1);
const bytes = encodeWrites([['t', 1, Buffer.from('value')]])[0]!;
const tx = { kind: 'tx', part: 0, parts: 1, bytes } as const;

/** A log as leaders write it: `lead` may cut a batch of parts, and may have missed the newest entries. */
const step = fc.oneof(
  { weight: 1, arbitrary: fc.record({ what: fc.constant('lead'), of: fc.nat(3) }) },
  { weight: 4, arbitrary: fc.record({ what: fc.constant('batch'), of: fc.nat(3) }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constant('cut batch'), of: fc.nat(3) }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constant('beat'), of: fc.nat(3) }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constant('release'), of: fc.nat(3) }) },
);

const logs = fc.array(step, { maxLength: 20 }).map((steps) => {
  const log = new LogWriter();
  log.lead('a');
  for (const [at, { what, of }] of steps.entries()) {
    if (what === 'lead') log.lead(`m${of}`);
    else if (what === 'beat') log.beat(at);
    else if (what === 'release') log.release(`m${of}`);
    else {
      const parts = encodeWrites([['t', at, Buffer.alloc(8 * of, at)]], 8);
      const isCut = what === 'cut batch';
      for (const [number, value] of parts.entries()) {
        if (!isCut || number < parts.length - 1) log.part(number, parts.length, value);
      }
      if (isCut) log.lead(`m${of}`);
    }
  }
  return log;
});

/** What a machine has after these entries: what it applied, and what is stored after each. */
function replay(bodies: readonly Uint8Array[], stored = emptyPosition) {
  const applier = new Applier(stored);
  const applied: unknown[] = [];
  const positions: LogPosition[] = [];
  for (let seq = Math.max(1, stored.seq); seq <= bodies.length; seq++) {
    const decision = applier.accept(seq, bodies[seq - 1]!);
    expect(['diverged', 'newer']).not.toContain(decision.kind);
    if (decision.kind === 'lead') applied.push(decision.leader.owner);
    if (decision.kind === 'writes') applied.push(decodeWrites(decision.parts));
    if ('position' in decision) positions.push(decision.position);
  }
  const { epoch, n, chain } = applier.position;
  return { applied, positions, state: { epoch, n, chain } };
}

describe('machines that read the same log', () => {
  it('come to the same chain from wherever they begin', () => {
    fc.assert(
      fc.property(logs, ({ bodies, epoch, n, chain }) => {
        const whole = replay(bodies);
        expect(whole.state).toEqual({ epoch, n, chain });
        for (const [at, stored] of whole.positions.entries()) {
          const rest = replay(bodies, stored);
          expect(rest.state).toEqual(whole.state);
          expect(rest.applied).toEqual(whole.applied.slice(at + 1));
        }
      }),
      { numRuns: 40 },
    );
  });

  it('apply the same whatever is repeated, late or unreadable between', () => {
    // By chance it may be an entry of a newer program, which stops the machine.
    const unreadable = fc
      .uint8Array({ maxLength: 60 })
      .filter((body) => readEntry(body) === undefined);
    const noise = fc.record({
      behind: fc.nat(),
      what: fc.oneof(fc.nat(), unreadable, fc.constantFrom('old', 'rival')),
    });
    fc.assert(
      fc.property(logs, fc.array(noise, { maxLength: 30 }), ({ bodies }, noises) => {
        const whole = replay(bodies);
        const between = bodies.map((body) => [body]);
        for (const { behind, what } of noises) {
          const at = behind % bodies.length;
          if (typeof what === 'number') between[at]!.push(bodies[what % (at + 1)]!);
          else if (typeof what !== 'string') between[at]!.push(what);
          else {
            const { epoch } = replay(bodies.slice(0, at + 1)).state;
            const late =
              what === 'old'
                ? { epoch: epoch - 1, n: behind, chain: otherChain }
                : { epoch, n: 0, chain: otherChain };
            const content = what === 'old' ? tx : leadOf('rival', 0);
            if (late.epoch > 0) between[at]!.push(new LogWriter().body(content, late));
          }
        }
        const disturbed = replay(between.flat());
        expect(disturbed.applied).toEqual(whole.applied);
        expect(disturbed.state).toEqual(whole.state);
      }),
    );
  });
});
