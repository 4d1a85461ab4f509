/** Writes a log as leaders do that read back each entry before the next. */
import {
  chainAfter,
  emptyChain,
  encodeEntry,
  encodeWrites,
  type Entry,
  type EntryContent,
} from '../../../src/cluster/log/entry.ts';
import type { StoredWrite } from '../../../src/store/replicated-transactions.ts';

export class LogWriter {
  epoch = 0;
  n = 0;
  chain = emptyChain;
  /** All entries, in their order. */
  readonly bodies: Uint8Array[] = [];

  /** @param instead of what the leader would write: such an entry is not appended */
  body(content: EntryContent, instead: Partial<Entry> = {}): Uint8Array {
    const isLead = content.kind === 'lead';
    const next = {
      epoch: isLead ? this.epoch + 1 : this.epoch,
      n: isLead ? 0 : content.kind === 'tx' ? this.n + 1 : this.n,
      chain: this.chain,
    };
    return encodeEntry({ ...next, ...content, ...instead } as Entry);
  }

  lead(owner = 'other'): Uint8Array {
    const body = this.body(leadOf(owner, this.n));
    this.epoch++;
    this.n = 0;
    return this.#counted(body);
  }

  tx(writes: readonly StoredWrite[] = []): Uint8Array {
    return this.part(0, 1, encodeWrites(writes)[0]!);
  }

  part(part: number, parts: number, bytes: Uint8Array): Uint8Array {
    const body = this.body({ kind: 'tx', part, parts, bytes });
    this.n++;
    return this.#counted(body);
  }

  beat(count = 1): Uint8Array {
    const body = this.body({ kind: 'beat', count });
    this.bodies.push(body);
    return body;
  }

  release(to = ''): Uint8Array {
    const body = this.body({ kind: 'release', to });
    this.bodies.push(body);
    return body;
  }

  #counted(body: Uint8Array): Uint8Array {
    this.bodies.push(body);
    this.chain = chainAfter(this.chain, body);
    return body;
  }
}

export function leadOf(owner: string, after: number): EntryContent & { kind: 'lead' } {
  return { kind: 'lead', leader: { owner, url: `http://${owner}`, version: '1' }, after };
}
