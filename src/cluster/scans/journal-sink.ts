/** The journals of all edges on a core's disk: written as a redirect thread writes its own (engine/journal/writer.ts). */
import { JournalWriter, type JournalWriterOptions } from '../../engine/journal/writer.ts';
import type { JournalPositions } from '../../engine/journal/positions.ts';
import type { JournalSink } from './scan-receiver.ts';

export interface JournalFilesSinkOptions {
  readonly tails: JournalPositions;
  /** Makes the folder of a journal, and what is left of it ready. @returns how far it is written @throws Error of the system */
  readonly recover: (journal: number) => { readonly folder: string; readonly position: number };
  readonly writer: Pick<JournalWriterOptions, 'segmentBytesMax' | 'segmentMsMax' | 'disk'>;
}

interface Written {
  readonly folder: string;
  writer: JournalWriter;
}

export class JournalFilesSink implements JournalSink {
  readonly #options: JournalFilesSinkOptions;
  readonly #journals = new Map<number, Written>();
  /** Writers that ended before a hole: kept until what they have written is on the disk. */
  readonly #ended = new Set<JournalWriter>();

  constructor(options: JournalFilesSinkOptions) {
    this.#options = options;
  }

  *tails(): Generator<readonly [journal: number, tail: number]> {
    for (const [journal, { writer }] of this.#journals) yield [journal, writer.position];
  }

  tail(journal: number): number {
    return this.#journal(journal).writer.position;
  }

  write(journal: number, position: number, bytes: Uint8Array): void {
    const written = this.#journal(journal);
    if (position !== written.writer.position) {
      this.#ended.add(written.writer);
      written.writer = this.#open(journal, written.folder, position);
    }
    const { writer } = written;
    writer.append(bytes, 0);
    if (writer.position === position + bytes.length) return;
    throw new Error(`journal ${journal} cannot be written: ${writer.fault ?? 'unknown'}`);
  }

  async sync(): Promise<void> {
    const ended = [...this.#ended];
    // Taken now: a writer that ends while others are synced has something to sync as well.
    for (const writer of [...ended, ...this.#current()]) await writer.sync();
    for (const writer of ended) {
      await writer.close();
      this.#ended.delete(writer);
    }
  }

  /**
   * Ends segments whose records are old: they hold addresses. Called by a timer. Syncs, as an ended segment that is
   * open would not leave the disk.
   */
  rotate(nowMs: number): Promise<void> {
    for (const writer of this.#current()) writer.rotate(nowMs);
    return this.sync();
  }

  async close(): Promise<void> {
    for (const writer of [...this.#ended, ...this.#current()]) await writer.close();
  }

  #current(): JournalWriter[] {
    return [...this.#journals.values()].map(({ writer }) => writer);
  }

  #journal(journal: number): Written {
    const known = this.#journals.get(journal);
    if (known !== undefined) return known;
    const { folder, position } = this.#options.recover(journal);
    const written = { folder, writer: this.#open(journal, folder, position) };
    this.#journals.set(journal, written);
    return written;
  }

  /** Nothing waits in memory: what the disk refuses is read from the log again. */
  #open(journal: number, folder: string, position: number): JournalWriter {
    const { tails, writer } = this.#options;
    return new JournalWriter({ ...writer, tails, folder, journal, position, backlogBytesMax: 0 });
  }
}
