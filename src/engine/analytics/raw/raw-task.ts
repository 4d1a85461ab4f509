/**
 * A query in the pool's thread: reads slice by slice, and ends when it is canceled. Other queries of the
 * thread run between slices. The store is open only while a query runs: a thread that dies with an open snapshot would keep
 * its pages for ever.
 */
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { Sketch } from '../../../model/sketch/sketch.ts';
import { openScanStore } from '../../../store/scans/scans.ts';
import { ByteReader, ByteWriter } from '../../counting/bytes.ts';
import { Rollup } from '../../counting/rollup.ts';
import { rawNamesMax } from './entry-counter.ts';
import { type RawAnswer, RawControl, type RawQuery } from './raw-query.ts';
import { walkRaw } from './raw-walk.ts';

export interface RawTask {
  readonly path: string;
  readonly query: RawQuery;
  readonly control: SharedArrayBuffer;
}

/** Undefined = canceled. */
export async function runRawTask(task: RawTask): Promise<PackedRawAnswer | undefined> {
  const control = new RawControl(task.control);
  const store = openScanStore(task.path, 'read');
  try {
    const walk = walkRaw(store, task.query);
    for (;;) {
      if (control.isCanceled) return undefined;
      const step = walk.next();
      if (step.done === true) return packAnswer(step.value);
      await yieldToEventLoop();
    }
  } finally {
    await store.environment.close();
  }
}

/** An answer as a message carries it: rollup and sketch as bytes. */
export interface PackedRawAnswer extends Omit<RawAnswer, 'rollup' | 'sketch'> {
  readonly rollup: Uint8Array;
  readonly inline: Uint8Array;
  readonly chunks: ReadonlyArray<Uint8Array | undefined>;
}

/** Copies views: a message carries the whole buffer of each. */
export function packAnswer({ rollup, sketch, ...rest }: RawAnswer): PackedRawAnswer {
  const writer = new ByteWriter();
  rollup.write(writer);
  const chunks: Array<Uint8Array | undefined> = [];
  for (const index of sketch.dirtyChunks()) chunks[index] = sketch.chunkBytes(index).slice();
  return { ...rest, rollup: writer.take().slice(), inline: sketch.inlineBytes().slice(), chunks };
}

export function unpackAnswer(packed: PackedRawAnswer): RawAnswer {
  const { rollup, inline, chunks, ...rest } = packed;
  return {
    ...rest,
    rollup: Rollup.read(new ByteReader(rollup), rawNamesMax),
    sketch: Sketch.fromParts(inline, (index) => chunks[index]),
  };
}
