/** Positions of journals in shared memory: found by their numbers, and by being there at all. */
import { expect, it } from 'vitest';
import { journalsMax, JournalPositions } from '../../src/scans/journal/positions.ts';

it('names the journals that were ever published, for every thread that has the memory', () => {
  const writer = new JournalPositions();
  const reader = new JournalPositions(writer.memory);
  expect(reader.journals).toEqual([]);
  for (const journal of [31, 0, 40_000, journalsMax - 1, 32]) writer.publish(journal, journal + 1);
  const journals = [0, 31, 32, 40_000, journalsMax - 1];
  expect(reader.journals).toEqual(journals);
  expect(journals.map((journal) => reader.position(journal))).toEqual(journals.map((at) => at + 1));
  reader.publish(0, 0);
  reader.publish(40_000, 7);
  writer.publish(63, 0);
  expect([writer.journals, writer.position(40_000)]).toEqual([reader.journals, 7]);
  expect(reader.journals).toEqual([...journals, 63].toSorted((a, b) => a - b));
});
