/** What was appended is found again, whole, by the next process; what is torn or damaged is passed over. */
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import type { AttemptRecord } from '../../src/model/webhook.ts';
import { type JournaledResult, ResultJournal } from '../../src/store/delivery/result-journal.ts';
import { temporaryFolder } from './temporary-management.ts';

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

const resultOf = (deliveryNo: number, attempt = succeeded, attemptNo = 1): JournaledResult => ({
  deliveryNo,
  attemptNo,
  wheelMs: 5_000 + deliveryNo,
  random: 0.25,
  attempt,
});

interface Place {
  readonly files: readonly [string, string];
  readonly open: () => ResultJournal;
  /** What the next process would find. */
  readonly left: () => readonly JournaledResult[];
}

function place(): Place {
  const folder = temporaryFolder();
  const path = join(folder, 'delivery.mdb');
  return {
    files: [join(folder, 'delivery.results.0'), join(folder, 'delivery.results.1')],
    open: () => {
      const journal = new ResultJournal(path);
      onTestFinished(() => journal.close());
      return journal;
    },
    left: () => {
      const journal = new ResultJournal(path);
      journal.close();
      return journal.uncommitted;
    },
  };
}

it('gives the next process every uncommitted result with all fields, and no committed one', () => {
  const { open, left } = place();
  const journal = open();
  expect(journal.uncommitted).toEqual([]);
  journal.append([resultOf(1), resultOf(2, failed)]);
  journal.rotate();
  journal.append([resultOf(3)]);
  expect(left()).toEqual([resultOf(1), resultOf(2, failed), resultOf(3)]);
  journal.markCommitted();
  expect(left()).toEqual([resultOf(3)]);
  journal.rotate();
  journal.append([resultOf(4)]);
  journal.markCommitted();
  expect(left()).toEqual([resultOf(4)]);
});

it('keeps uncommitted results when it rotates too often', () => {
  const { open, left } = place();
  const journal = open();
  journal.append([resultOf(1)]);
  journal.rotate();
  journal.append([resultOf(2)]);
  journal.rotate();
  journal.append([resultOf(3)]);
  expect(new Set(left())).toEqual(new Set([resultOf(1), resultOf(2), resultOf(3)]));
});

it('gives them in the order in which they arrived, whichever file they are in', () => {
  const { open, left } = place();
  const journal = open();
  // The newer ones end up in the file that is read first.
  journal.append([resultOf(1)]);
  journal.rotate();
  journal.markCommitted();
  journal.append([resultOf(2, failed, 1)]);
  journal.rotate();
  journal.append([resultOf(3, succeeded, 2), resultOf(3, failed, 1)]);
  expect(left().map(({ deliveryNo, attemptNo }) => [deliveryNo, attemptNo])).toEqual([
    [2, 1],
    [3, 1],
    [3, 2],
  ]);
  const next = open();
  next.clear();
  expect(next.uncommitted).toEqual([]);
});

it('continues behind the results of a process before until they are cleared', () => {
  const { open, left, files } = place();
  open().append([resultOf(1)]);
  const next = open();
  next.append([resultOf(2)]);
  expect(left()).toEqual([resultOf(1), resultOf(2)]);
  next.clear();
  expect(files.map((file) => statSync(file).size)).toEqual([0, 0]);
  next.append([resultOf(3)]);
  expect(left()).toEqual([resultOf(3)]);
});

it('passes over a tail that is torn at any byte, and over a line with any byte changed', () => {
  const { open, left, files } = place();
  open().append([resultOf(1), resultOf(2)]);
  const first = readFileSync(files[0]);
  open().append([resultOf(3, failed)]);
  const whole = readFileSync(files[0]);
  // Without its line break a line is as good.
  for (let end = first.length; end < whole.length - 1; end++) {
    writeFileSync(files[0], whole.subarray(0, end));
    expect(left()).toEqual([resultOf(1), resultOf(2)]);
  }
  for (let at = 0; at < first.length; at++) {
    const changed = Buffer.from(whole);
    changed[at] = changed[at]! ^ 0x04;
    writeFileSync(files[0], changed);
    const found = left();
    expect(found.filter(({ deliveryNo }) => deliveryNo < 3)).toEqual([]);
    if (at < first.length - 1) expect(found).toEqual([resultOf(3, failed)]);
  }
});

it('is readable by its owner alone', () => {
  const { open, files } = place();
  open();
  for (const file of files) expect(statSync(file).mode & 0o777).toBe(0o600);
});
