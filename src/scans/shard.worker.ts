/**
 * Thread entry of a shard: runs its cycles and sends its figures to the control thread.
 * A cycle that fails is retried after `retryMs`; an unreadable record is a defect and ends the thread.
 */
import { Failure } from '../model/failure.ts';
import { openScanStore } from '../store/scans/scans.ts';
import { systemClock } from '../system-clock.ts';
import { openThreadChannel } from '../workers/thread-setup.ts';
import { JournalTails } from './journal/tails.ts';
import { Shard } from './shard.ts';
import type { ShardCommand, ShardMessage, ShardSetup } from './shard-thread.ts';
import { openVisitor } from './visitor/visitor.ts';

/** Between two tries of a commit that the disk refused. */
const retryMs = 500;
const figuresMs = 1_000;

const channel = openThreadChannel<ShardSetup, ShardMessage, ShardCommand>();
const { setup, send } = channel;

const store = openScanStore(setup.storeFile);
const shard = new Shard({
  ...setup,
  store,
  tails: new JournalTails(setup.tails),
  visitor: openVisitor(setup.visitor),
  clock: systemClock,
});
let isStopping = false;
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
    if (!hasMore && !isCaughtUp) {
      isCaughtUp = true;
      send({ kind: 'caught-up' });
    }
    if (!hasMore && isStopping) return stop();
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    fault = error.message;
    waitMs = retryMs;
  }
  timer = setTimeout(cycle, waitMs);
}

function stop(): void {
  shard.close();
  void shard.consumed().then((consumed) => {
    send({ kind: 'consumed', consumed });
    return store.environment.close().then(() => process.exit(0));
  });
}

function sendFigures(): void {
  send({ kind: 'figures', figures: shard.figures(), fault });
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
  isStopping = true;
  clearTimeout(timer);
  cycle();
});
setInterval(sendFigures, figuresMs).unref();
cycle();
