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

const heard = (deliveryNo: number, attempt = succeeded, attemptNo = 1): JournaledResult => ({
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

it('gives the next process all that was not settled, every field, and nothing once it was', () => {
  const { open, left } = place();
  const journal = open();
  expect(journal.uncommitted).toEqual([]);
  journal.append([heard(1), heard(2, failed)]);
  journal.rotate();
  journal.append([heard(3)]);
  expect(left()).toEqual([heard(1), heard(2, failed), heard(3)]);
  journal.markCommitted();
  expect(left()).toEqual([heard(3)]);
  journal.rotate();
  journal.append([heard(4)]);
  journal.markCommitted();
  expect(left()).toEqual([heard(4)]);
});

it('keeps what is not settled when it is asked to turn too often', () => {
  const { open, left } = place();
  const journal = open();
  journal.append([heard(1)]);
  journal.rotate();
  journal.append([heard(2)]);
  journal.rotate();
  journal.append([heard(3)]);
  expect(new Set(left())).toEqual(new Set([heard(1), heard(2), heard(3)]));
});

it('gives them in the order in which they were heard, whichever file they are in', () => {
  const { open, left } = place();
  const journal = open();
  // The newer ones end up in the file that is read first.
  journal.append([heard(1)]);
  journal.rotate();
  journal.markCommitted();
  journal.append([heard(2, failed, 1)]);
  journal.rotate();
  journal.append([heard(3, succeeded, 2), heard(3, failed, 1)]);
  expect(left().map(({ deliveryNo, attemptNo }) => [deliveryNo, attemptNo])).toEqual([
    [2, 1],
    [3, 1],
    [3, 2],
  ]);
  const next = open();
  next.clear();
  expect(next.uncommitted).toEqual([]);
});

it('goes on behind what was left until that is forgotten', () => {
  const { open, left, files } = place();
  open().append([heard(1)]);
  const next = open();
  next.append([heard(2)]);
  expect(left()).toEqual([heard(1), heard(2)]);
  next.clear();
  expect(files.map((file) => statSync(file).size)).toEqual([0, 0]);
  next.append([heard(3)]);
  expect(left()).toEqual([heard(3)]);
});

it('passes over a tail that is torn at any byte, and over a line with any byte changed', () => {
  const { open, left, files } = place();
  open().append([heard(1), heard(2)]);
  const first = readFileSync(files[0]);
  open().append([heard(3, failed)]);
  const whole = readFileSync(files[0]);
  // Without its line break a line is as good.
  for (let end = first.length; end < whole.length - 1; end++) {
    writeFileSync(files[0], whole.subarray(0, end));
    expect(left()).toEqual([heard(1), heard(2)]);
  }
  for (let at = 0; at < first.length; at++) {
    const changed = Buffer.from(whole);
    changed[at] = changed[at]! ^ 0x04;
    writeFileSync(files[0], changed);
    const found = left();
    expect(found.filter(({ deliveryNo }) => deliveryNo < 3)).toEqual([]);
    if (at < first.length - 1) expect(found).toEqual([heard(3, failed)]);
  }
});

it('is readable by its owner alone', () => {
  const { open, files } = place();
  open();
  for (const file of files) expect(statSync(file).mode & 0o777).toBe(0o600);
});
