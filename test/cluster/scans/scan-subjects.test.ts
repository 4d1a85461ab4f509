/** Nodes may publish under their own names alone: what they send counts for their own journals alone. */
import { expect, test } from 'vitest';
import type { LogReader } from '../../../src/cluster/log/ordered-log.ts';
import { MemoryLog, type MemoryStream } from '../log/memory-log.ts';
import type { VirtualTime } from '../simulation/virtual-time.ts';
import { Fixture } from './receiver-fixture.ts';

/** Brings each piece as if it was appended by `subject`. */
class SubjectLog extends MemoryLog {
  readonly subject: string;

  constructor(stream: MemoryStream, later: VirtualTime['later'], subject: string) {
    super(stream, later);
    this.subject = subject;
  }

  override follow(from: number, reader: LogReader) {
    return super.follow(from, {
      entry: (seq, body, atMs) => reader.entry(seq, body, atMs, this.subject),
      ended: (error) => reader.ended(error),
    });
  }
}

test('a piece of another node than the journal is dropped, whatever run it names', async () => {
  for (const [subject, tail] of [['qz.scans.other'], ['qz.scans.own', 30]] as const) {
    const own = new Fixture();
    own.receiver.stop();
    own.receiver = own.start(new SubjectLog(own.stream, own.later, subject));
    own.piece(0, 0, 30);
    await own.pass(50);
    expect(own.journals.get(0)?.tail).toBe(tail);
    expect(own.receiver.dropped).toBe(tail === undefined ? 1 : 0);
    own.receiver.stop();
  }
});
