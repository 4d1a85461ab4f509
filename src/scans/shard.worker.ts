/**
 * Thread entry of a shard: runs its cycles and sends its figures to the control thread.
 * A cycle that fails is retried after `retryMs`. A damaged record stops its code alone (frozen.ts); damaged marks are
 * found again.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { Failure, isDamage } from '../model/failure.ts';
import { openScanStore } from '../store/scans/scans.ts';
import { systemClock } from '../system-clock.ts';
import { openThreadChannel } from '../workers/thread-setup.ts';
import { assertInPlace } from './journal/place.ts';
import { JournalPositions } from './journal/positions.ts';
import { repairMarks } from './mark-recovery.ts';
import { Shard } from './shard.ts';
import {
  countingMsMax,
  flushMsMax,
  type ShardCommand,
  type ShardMessage,
  type ShardSetup,
} from './shard-thread.ts';
import { openVisitor } from './visitor/visitor.ts';

/** Between two tries of a commit that the disk refused. */
const retryMs = 500;
const figuresMs = 1_000;
/** Damaged records sent to the control thread. */
const damageSentMax = 100;

const channel = openThreadChannel<ShardSetup, ShardMessage, ShardCommand>();
const { setup, send } = channel;

// A store would be made where none is.
assertInPlace(setup.store);
const store = openScanStore(setup.store.path);
repair();
const shard = new Shard({
  ...setup,
  store,
  tails: new JournalPositions(setup.tails),
  consumed: new JournalPositions(setup.consumed),
  visitor: openVisitor(setup.visitor),
  clock: systemClock,
});
/** Set by a stop: counting ends then, whatever is left. */
let stopAtMs = Infinity;
let isCaughtUp = false;
let isReadingConsumed = false;
let timer: NodeJS.Timeout | undefined;
let fault: string | undefined;
let announcedScans = 0;

function cycle(): void {
  let waitMs = setup.windowMs;
  try {
    const startedMs = systemClock.monotonicMs();
    const hasMore = shard.cycle();
    fault = undefined;
    if (shard.committedScans !== announcedScans) {
      announcedScans = shard.committedScans;
      send({ kind: 'committed' });
    }
    waitMs = hasMore ? 0 : Math.max(0, setup.windowMs - (systemClock.monotonicMs() - startedMs));
    if (!hasMore && !isCaughtUp && shard.journalFault === undefined) {
      isCaughtUp = true;
      send({ kind: 'caught-up', seen: shard.highestSeen });
    }
    if (!hasMore && stopAtMs !== Infinity) return void stop();
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    fault = error.message;
    waitMs = isDamage(error) && repair() ? 0 : retryMs;
  }
  if (systemClock.monotonicMs() >= stopAtMs) return void stop();
  timer = setTimeout(cycle, waitMs);
}

/** @returns whether a mark was damaged */
function repair(): boolean {
  const repairs = repairMarks(store);
  if (repairs.length > 0) send({ kind: 'repaired', repairs });
  return repairs.length > 0;
}

async function stop(): Promise<void> {
  try {
    shard.close();
  } catch (error) {
    // The blocks are in the store: the next start makes the numbers of them.
    if (!(error instanceof Failure)) throw error;
  }
  await Promise.race([closeStore().catch(() => undefined), pause(flushMsMax)]);
  process.exit(0);
}

async function closeStore(): Promise<void> {
  send({ kind: 'consumed', consumed: await shard.consumed() });
  await store.environment.close();
}

function sendFigures(): void {
  const { journalFault } = shard;
  const { damage: found } = store.environment;
  found.review();
  const damage = found.places.slice(0, damageSentMax);
  send({ kind: 'figures', figures: shard.figures(), damage, fault, journalFault });
  const expired = shard.expiry.takeDone();
  if (expired.length > 0) send({ kind: 'expired', codeNos: expired });
  if (isReadingConsumed) return;
  isReadingConsumed = true;
  void shard
    .consumed()
    .then((consumed) => send({ kind: 'consumed', consumed }))
    .catch((error: unknown) => {
      fault = error instanceof Error ? error.message : String(error);
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
  if (command.kind === 'expire') {
    shard.expiry.add(command.codes);
    return;
  }
  stopAtMs = systemClock.monotonicMs() + countingMsMax;
  clearTimeout(timer);
  cycle();
});
setInterval(sendFigures, figuresMs).unref();
cycle();
