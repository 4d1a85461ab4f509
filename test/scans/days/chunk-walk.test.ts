/** Chunks found by a walk are those that a look-up finds, whichever are missing and whatever else is read meanwhile. */
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, onTestFinished, test, vi } from 'vitest';
import { ChunkWalk } from '../../../src/scans/days/stored-piece.ts';
import { Summaries } from '../../../src/scans/summaries.ts';
import { chunkKey, openScanStore } from '../../../src/store/scans/scans.ts';
import { visitorHashes } from '../../support/visitor-hashes.ts';
import { temporaryFolder } from '../../store/temporary-management.ts';

const codeNo = 7;
const days = 5;
const indexes = 48;

test('a walk finds the chunks that are there', async () => {
  const store = openScanStore(join(temporaryFolder(), 'scans.mdb'), 'create');
  onTestFinished(() => store.environment.close());
  const { chunks } = store;
  const other = chunkKey(codeNo + 1, 0, 0);
  const places = fc.uniqueArray(fc.nat({ max: days * indexes - 1 }), { maxLength: 60 });
  const property = fc.property(places, places, fc.boolean(), (stored, asked, isRead) => {
    store.environment.transactionSync(() => {
      for (const key of Array.from(chunks.keys({}))) chunks.remove(key);
      chunks.put(other, new Uint8Array(1_025).fill(9));
      for (const place of stored) chunks.put(keyOf(place), contentOf(place));
    });
    const walk = new ChunkWalk(chunks, codeNo, days);
    for (const place of asked.toSorted((one, next) => one - next)) {
      const found = walk.find(Math.floor(place / indexes), place % indexes);
      const wanted = stored.includes(place) ? contentOf(place) : undefined;
      expect(found && Uint8Array.from(found)).toEqual(wanted);
      if (isRead) chunks.getInPlace(other);
    }
    walk.close();
  });
  fc.assert(property, { numRuns: 200 });
});

test('a walk is closed with the answer, also with one that fails', async () => {
  const store = openScanStore(join(temporaryFolder(), 'scans.mdb'), 'create');
  onTestFinished(() => store.environment.close());
  const summaries = new Summaries(store, 10);
  const day = summaries.emptyDay(3, 1);
  const { rollup, sketch } = day.pieces[0]!;
  const hashes = visitorHashes(3);
  for (let visitor = 0; visitor < 1_000; visitor++) {
    hashes.make(visitor);
    sketch.add(hashes.hi, hashes.lo);
    rollup.scans++;
  }
  store.environment.transactionSync(() => summaries.closeDay(codeNo, day));
  let open = 0;
  const walkInPlace = store.chunks.walkInPlace.bind(store.chunks);
  const walks = vi.spyOn(store.chunks, 'walkInPlace').mockImplementation((range) => {
    const walk = walkInPlace(range);
    open++;
    const close = (): void => {
      open--;
      walk.close();
    };
    return { value: walk.value, next: () => walk.next(), close };
  });
  expect(summaries.closedDay(codeNo, 3)?.pieces[0]?.sketch.estimate()).toBeGreaterThan(900);
  vi.spyOn(store.chunks, 'isSound').mockReturnValue(false);
  expect(() => summaries.closedDay(codeNo, 3)).toThrow('damaged');
  expect(walks).toHaveBeenCalledTimes(2);
  expect(open).toBe(0);
});

const keyOf = (place: number): Buffer =>
  chunkKey(codeNo, Math.floor(place / indexes), place % indexes);
/** Some as long as others, as those of sketches are. */
const contentOf = (place: number): Uint8Array =>
  new Uint8Array(place % 3 === 0 ? 1_025 : 1 + 6 * (place % 170)).fill(place + 1);
