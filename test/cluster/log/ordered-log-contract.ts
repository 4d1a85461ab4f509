/**
 * What every implementation of `OrderedLog` must do, as one suite, on a log without faults: all appends are answered, each is
 * there once, no reading ends. Faults that the port allows: nats-faults.cluster.test.ts, simulation/.
 */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { OrderedLog } from '../../../src/cluster/log/ordered-log.ts';
import { LogRecorder } from './log-recorder.ts';

export interface LogFixture {
  readonly name: string;
  /** Before and after all of them. */
  readonly start?: () => Promise<void>;
  readonly end?: () => Promise<void>;
  /** An empty log. @returns makes a new handle on it, as another machine has */
  open(): Promise<() => OrderedLog>;
}

export function orderedLogContract(fixture: LogFixture): void {
  describe(`ordered log: ${fixture.name}`, () => {
    let handle: () => OrderedLog;
    let log: OrderedLog;
    let other: OrderedLog;
    const recorders: LogRecorder[] = [];

    beforeAll(() => fixture.start?.());
    afterAll(() => fixture.end?.());

    beforeEach(async () => {
      handle = await fixture.open();
      log = handle();
      other = handle();
    });

    afterEach(() => {
      for (const recorder of recorders.splice(0)) {
        recorder.stop();
        expect(recorder.violations).toEqual([]);
        expect(recorder.endings).toBe(0);
      }
    });

    const follow = (on: OrderedLog, from = 1): LogRecorder => {
      const recorder = new LogRecorder(on, from);
      recorders.push(recorder);
      return recorder;
    };
    const context: Context = {
      log: () => log,
      other: () => other,
      handle: () => handle(),
      follow,
    };
    ordering(context);
    bodies(context);
    positions(context);
    pruning(context);
    ends(context);
  });
}

interface Context {
  readonly log: () => OrderedLog;
  readonly other: () => OrderedLog;
  readonly handle: () => OrderedLog;
  readonly follow: (on: OrderedLog, from?: number) => LogRecorder;
}

const utf8 = new TextEncoder();
const bytes = (text: string): Uint8Array => utf8.encode(text);

/** Appends one after another. @returns the positions that were answered */
async function fill(log: OrderedLog, texts: readonly string[]): Promise<number[]> {
  const positions: number[] = [];
  for (const text of texts) positions.push(await log.append(bytes(text)));
  return positions;
}

const numbered = (prefix: string, count: number): string[] =>
  Array.from({ length: count }, (_, number) => `${prefix}${number}`);

/** Resolves when two readings have seen all up to the end of the log. */
async function settled(log: OrderedLog, ...recorders: readonly LogRecorder[]): Promise<number> {
  const { last } = await log.bounds();
  await Promise.all(recorders.map((recorder) => recorder.reached(last)));
  return last;
}

function ordering({ log, other, follow }: Context): void {
  test('two handles read one order, and what was answered stands where the answer says', async () => {
    const [mine, theirs] = [follow(log()), follow(other())];
    const [a, b] = [numbered('a', 40), numbered('b', 40)];
    const [positionsA, positionsB] = await Promise.all([fill(log(), a), fill(other(), b)]);
    await settled(log(), mine, theirs);

    expect(mine.texts).toEqual(theirs.texts);
    expect(mine.texts).toHaveLength(80);
    for (const [index, position] of positionsA.entries())
      expect(mine.text(position)).toBe(a[index]);
    for (const [index, position] of positionsB.entries())
      expect(mine.text(position)).toBe(b[index]);
    expect(mine.texts.filter((text) => text.startsWith('a'))).toEqual(a);
    expect(mine.texts.filter((text) => text.startsWith('b'))).toEqual(b);
  });

  test('appends that race give each position to one body', async () => {
    const recorder = follow(other());
    const texts = [...numbered('x', 100), ...numbered('y', 100)];
    const answered = await Promise.all(
      texts.map((text) => (text.startsWith('x') ? log() : other()).append(bytes(text))),
    );
    await settled(log(), recorder);
    expect(new Set(answered).size).toBe(200);
    for (const [index, position] of answered.entries())
      expect(recorder.text(position)).toBe(texts[index]);
    const mine = recorder.texts.filter((text) => text.startsWith('x'));
    expect(mine).toEqual(texts.slice(0, 100));
  });
}

function bodies({ log, other, follow }: Context): void {
  test('bodies up to the limit arrive whole, and belong to the reader', async () => {
    const recorder = follow(other());
    const sizes = [0, 1, 700 * 1024, 3, 700 * 1024, 1_000_000];
    const bodies = sizes.map((size, index) => new Uint8Array(size).fill(index + 1));
    const positions: number[] = [];
    for (const body of bodies) positions.push(await log().append(body));
    // What a client keeps in a buffer that it uses again would be written over now.
    await fill(log(), numbered('later', 50));
    await settled(log(), recorder);
    for (const [index, position] of positions.entries()) {
      expect(Buffer.compare(recorder.body(position), bodies[index]!)).toBe(0);
    }
  });
}

function positions({ log, other, handle, follow }: Context): void {
  test('a reading from beyond the end waits for its position', async () => {
    await fill(log(), ['before']);
    const from = (await log().bounds()).last + 4;
    const [recorder, whole] = [follow(other(), from), follow(log())];
    while (whole.next <= from + 2) await fill(log(), [`w${whole.next}`]);
    await settled(log(), recorder, whole);
    expect(recorder.positions[0]).toBe(from);
    expect(recorder.text(from)).toBe(whole.text(from));
  });

  test('every reading sees an append, those of its own handle and of a later handle too', async () => {
    const recorders = [follow(log()), follow(log()), follow(other())];
    const [position] = await fill(log(), ['seen']);
    recorders.push(follow(handle()));
    await Promise.all(recorders.map((recorder) => recorder.reached(position!)));
    for (const recorder of recorders) expect(recorder.text(position!)).toBe('seen');
  });

  test('a reading that is stopped and begun again where it stood misses nothing', async () => {
    const whole = follow(other());
    const filled = fill(log(), numbered('s', 60));
    let next = 1;
    const texts: string[] = [];
    for (let round = 0; round < 6; round++) {
      const recorder = follow(other(), next);
      await recorder.reached(next + 8);
      recorder.stop();
      texts.push(...recorder.texts);
      next = recorder.next;
    }
    await filled;
    await settled(log(), whole);
    expect(texts).toEqual(whole.texts.slice(0, texts.length));
  });

  test('bounds of an empty and a filled log', async () => {
    expect(await log().bounds()).toEqual({ first: 1, last: 0 });
    await fill(log(), numbered('f', 3));
    expect(await other().bounds()).toEqual({ first: 1, last: 3 });
  });
}

function pruning({ log, other, follow }: Context): void {
  test('what is pruned is gone, and the rest keeps its position', async () => {
    const answered = await fill(log(), numbered('p', 10));
    const below = answered[6]!;
    await log().prune(below);
    await other().prune(below - 2);
    expect((await other().bounds()).first).toBe(below);

    const kept = follow(other(), below);
    await settled(log(), kept);
    expect(kept.positions[0]).toBe(below);
    expect(kept.text(below)).toBe('p6');
  });

  test('a log that is wholly pruned appends after its last position', async () => {
    await fill(log(), numbered('g', 3));
    const recorder = follow(other());
    const last = await settled(log(), recorder);
    // Beyond the end too: positions are not left out.
    await log().prune(last + 100);
    const bounds = await log().bounds();
    expect(bounds).toEqual({ first: last + 1, last });
    const [position] = await fill(log(), ['on']);
    expect(position).toBe(last + 1);
    const after = follow(other(), bounds.last + 1);
    await after.reached(position!);
    expect(after.text(position!)).toBe('on');
  });

  test('an empty log can be pruned', async () => {
    await log().prune(5);
    expect(await log().bounds()).toEqual({ first: 1, last: 0 });
    await fill(log(), ['first']);
    expect((await log().bounds()).first).toBe(1);
  });
}

function ends({ log, other, follow }: Context): void {
  test('a reading that is stopped brings nothing more: at once, and from within an entry', async () => {
    const said: string[] = [];
    const note = {
      entry: (seq: number) => void said.push(`entry ${seq}`),
      ended: (error: Error) => void said.push(error.message),
    };
    await fill(log(), numbered('q', 5));
    other().follow(1, note).stop();
    const recorder = follow(other());
    let inside = 0;
    const reading = other().follow(1, {
      entry: () => {
        inside++;
        reading.stop();
        reading.stop();
      },
      ended: note.ended,
    });
    const later = other().follow(1_000_000, note);
    await fill(log(), numbered('z', 5));
    await settled(log(), recorder);
    later.stop();
    await fill(log(), ['end']);
    await settled(log(), recorder);
    expect(said.filter((line) => line.startsWith('entry'))).toEqual([]);
    expect(inside).toBeLessThanOrEqual(1);
  });
}
