/**
 * Thread entry of a shard: runs its cycles and sends its figures to the control thread.
 *
 *   cycle every window --- nothing to do ---> asleep --- a scan is journaled ---> half a window --> cycle
 *                                               |------ a command, or `checkMs` -----------------> cycle
 *
 * The first scan after a pause waits half a window, as long as scans wait on average. A failed cycle is retried after
 * `retryMs`. A damaged record stops only its code (`Summaries.freeze`).
 */
import { setTimeout as pause } from 'node:timers/promises';
import { Failure, messageOf } from '../../model/failure.ts';
import { openScanStore } from '../../store/scans/scans.ts';
import { systemClock } from '../../platform/system-clock.ts';
import { openThreadChannel } from '../../platform/workers/supervised-thread.ts';
import { assertInPlace } from '../journal/file-identity.ts';
import { JournalPositions } from '../journal/positions.ts';
import { Shard } from './shard.ts';
import {
  countingMsMax,
  flushMsMax,
  type ShardCommand,
  type ShardMessage,
  type ShardSetup,
} from './shard-thread.ts';
import { Visitor } from '../visitor/visitor.ts';

/** From one window to the next: numbers are at most this old, plus a commit. */
const windowMs = 120;
const retryMs = 500;
const damageSentMax = 100;

const channel = openThreadChannel<ShardSetup, ShardMessage, ShardCommand>();
const { setup, send } = channel;
const { figuresMs, checkMs } = setup.rhythm;

send({ kind: 'booted' });
Atomics.wait(setup.gate, 0, 0);
// Opening creates a missing store.
assertInPlace(setup.store);
const store = openScanStore(setup.store.path);
const tails = new JournalPositions(setup.tails);
const shard = new Shard({
  ...setup,
  store,
  tails,
  consumed: new JournalPositions(setup.consumed),
  visitor: new Visitor(setup.visitor),
  clock: systemClock,
});
/** After a stop: counting ends then, even with scans left. */
let stopAtMs = Infinity;
let isCaughtUp = false;
let isReadingConsumed = false;
let timer: NodeJS.Timeout | undefined;
let isAsleep = false;
let isUnchanged = false;
let sentMs = -Infinity;
let fault: string | undefined;
let announcedScans = 0;

function cycle(): void {
  clearTimeout(timer);
  isAsleep = false;
  let waitMs = windowMs;
  let isIdle = false;
  try {
    const startedMs = systemClock.monotonicMs();
    const hasMore = shard.cycle();
    fault = undefined;
    if (shard.committedScans !== announcedScans) {
      announcedScans = shard.committedScans;
      send({ kind: 'committed' });
    }
    waitMs = hasMore ? 0 : Math.max(0, windowMs - (systemClock.monotonicMs() - startedMs));
    if (!hasMore && !isCaughtUp && shard.journalFault === undefined) {
      isCaughtUp = true;
      send({ kind: 'caught-up', seen: shard.highestSeen });
    }
    if (!hasMore && stopAtMs !== Infinity) return void stop();
    isIdle = shard.isIdle;
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    if (fault !== error.message) sentMs = -Infinity;
    fault = error.message;
    waitMs = retryMs;
  }
  const nowMs = systemClock.monotonicMs();
  if (nowMs >= stopAtMs) return void stop();
  if (nowMs - sentMs >= figuresMs) sendFigures(nowMs);
  if (isIdle) return sleep();
  isUnchanged = false;
  timer = setTimeout(cycle, waitMs);
}

/** The first look after a change sends its last figures. */
function sleep(): void {
  isAsleep = true;
  if (!tails.sleep(() => shard.hasUnread, wake)) return wake();
  timer = setTimeout(cycle, isUnchanged ? checkMs : figuresMs);
  isUnchanged = true;
}

function wake(): void {
  if (!isAsleep) return;
  isAsleep = false;
  isUnchanged = false;
  clearTimeout(timer);
  timer = setTimeout(cycle, windowMs / 2);
}

async function stop(): Promise<void> {
  try {
    shard.close();
  } catch (error) {
    // The blocks are stored: the next start counts them.
    if (!(error instanceof Failure)) throw error;
  }
  await Promise.race([closeStore().catch(() => undefined), pause(flushMsMax)]);
  process.exit(0);
}

async function closeStore(): Promise<void> {
  send({ kind: 'consumed', consumed: await shard.consumed() });
  await store.environment.close();
}

function sendFigures(nowMs: number): void {
  sentMs = nowMs;
  const { journalFault } = shard;
  const { damage: found } = store.environment;
  found.review();
  const damage = found.records.slice(0, damageSentMax);
  send({ kind: 'figures', figures: shard.figures(), damage, fault, journalFault });
  const expired = shard.expiry.takeDone();
  if (expired.length > 0) send({ kind: 'expired', codeNos: expired });
  if (isReadingConsumed) return;
  isReadingConsumed = true;
  void shard
    .consumed()
    .then((consumed) => send({ kind: 'consumed', consumed }))
    .catch((error: unknown) => {
      fault = messageOf(error);
    })
    .finally(() => {
      isReadingConsumed = false;
    });
}

channel.onCommand((command) => {
  if (command.kind === 'delivered') {
    shard.delivered(command.block);
    return;
  }
  if (command.kind === 'zones') {
    shard.cuts.set(command.zones);
    return;
  }
  if (command.kind === 'expire') {
    shard.expiry.add(command.codes);
    isUnchanged = false;
    if (isAsleep) cycle();
    return;
  }
  stopAtMs = systemClock.monotonicMs() + countingMsMax;
  cycle();
});
cycle();
