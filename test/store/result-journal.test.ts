/** The next process finds everything that was appended; a line that is torn or damaged is skipped. */
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import type { AttemptRecord } from '../../src/model/webhook.ts';
import { type JournaledResult, ResultJournal } from '../../src/store/delivery/result-journal.ts';
import { temporaryFolder } from './temporary-management.ts';
import { toWheelMs } from '../../src/model/wheel-time.ts';

const succeeded: AttemptRecord = { atMs: 1_700_000_000_000, durationMs: 1.25, status: 200 };
const failed: AttemptRecord = {
  atMs: 1_700_000_000_500,
  durationMs: 15_000,
  remoteIp: '2001:db8::1',
  status: 503,
  failure: 'status',
  answer: 'one\ntwo "three" ünï \u{1F600}',
  retryAfterMs: 4_000,
};

const idOf = (no: number): string => `dlv_${String(no).padStart(20, '0')}`;

/** Odd numbers have a row, the others stand in one of the outboxes. */
const result = (no: number, attempt = succeeded, attemptNo = 1): JournaledResult => ({
  deliveryId: idOf(no),
  endpointNo: 100 + no,
  outboxRef:
    no % 2 === 1
      ? undefined
      : { outbox: no % 4 === 0 ? 'events' : 'scans', ref: [9_000 + no, 3, 8, 'list'] },
  attemptNo,
  wheelMs: toWheelMs(5_000 + no),
  random: 0.25,
  attempt,
});

/** `left` is what the next process would find. */
function openFixture() {
  const folder = temporaryFolder();
  const path = join(folder, 'delivery.mdb');
  const open = (): ResultJournal => {
    const journal = new ResultJournal(path);
    onTestFinished(() => journal.close());
    return journal;
  };
  const left = (): readonly JournaledResult[] => {
    const journal = new ResultJournal(path);
    journal.close();
    return journal.uncommitted;
  };
  const files = [0, 1].map((no) => join(folder, `delivery.results.${no}`)) as [string, string];
  return { files, open, left };
}

it('gives the next process what was not committed, every field, and nothing that was', () => {
  const { open, left } = openFixture();
  const journal = open();
  expect(journal.uncommitted).toEqual([]);
  journal.append([result(1), result(2, failed)]);
  journal.rotate();
  journal.append([result(3)]);
  expect(left()).toEqual([result(1), result(2, failed), result(3)]);
  journal.markCommitted();
  expect(left()).toEqual([result(3)]);
  journal.rotate();
  journal.append([result(4)]);
  journal.markCommitted();
  expect(left()).toEqual([result(4)]);
  // Rotated too often.
  journal.rotate();
  journal.append([result(5)]);
  journal.rotate();
  journal.append([result(6)]);
  expect(new Set(left())).toEqual(new Set([result(4), result(5), result(6)]));
});

it('gives them in order of arrival, whichever file they are in', () => {
  const { open, left } = openFixture();
  const journal = open();
  // The newer ones end up in the file that is read first.
  journal.append([result(1)]);
  journal.rotate();
  journal.markCommitted();
  journal.append([result(2, failed, 1)]);
  journal.rotate();
  journal.append([result(3, succeeded, 2), result(3, failed, 1)]);
  const found = left().map(({ deliveryId, attemptNo }) => `${deliveryId} ${attemptNo}`);
  expect(found).toEqual([`${idOf(2)} 1`, `${idOf(3)} 1`, `${idOf(3)} 2`]);
  const next = open();
  next.clear();
  expect(next.uncommitted).toEqual([]);
});

it('appends behind what was left until that is cleared', () => {
  const { open, left, files } = openFixture();
  open().append([result(1)]);
  const next = open();
  next.append([result(2)]);
  expect(left()).toEqual([result(1), result(2)]);
  next.clear();
  expect(files.map((file) => statSync(file).size)).toEqual([0, 0]);
  next.append([result(3)]);
  expect(left()).toEqual([result(3)]);
});

it('skips a tail that is torn at any byte, and a line with any byte changed', () => {
  const { open, left, files } = openFixture();
  open().append([result(1), result(2)]);
  const first = readFileSync(files[0]);
  open().append([result(3, failed)]);
  const whole = readFileSync(files[0]);
  // A line without its line break is complete.
  for (let end = first.length; end < whole.length - 1; end++) {
    writeFileSync(files[0], whole.subarray(0, end));
    expect(left()).toEqual([result(1), result(2)]);
  }
  for (let at = 0; at < first.length; at++) {
    const changed = Buffer.from(whole);
    changed[at] = changed[at]! ^ 0x04;
    writeFileSync(files[0], changed);
    const found = left();
    expect(found.filter(({ deliveryId }) => deliveryId !== idOf(3))).toEqual([]);
    if (at < first.length - 1) expect(found).toEqual([result(3, failed)]);
  }
});
