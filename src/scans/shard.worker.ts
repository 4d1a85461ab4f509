/**
 * Thread entry of a shard: runs its turns and reports to the control thread.
 * A turn that fails is tried again after `retryMs`; what is not readable is a defect and ends the thread.
 */
import { Failure } from '../model/failure.ts';
import { openScanStore } from '../store/scans/scans.ts';
import { systemClock } from '../system-clock.ts';
import { openThreadLine } from '../workers/thread-setup.ts';
import { JournalTails } from './journal/tails.ts';
import { Shard } from './shard.ts';
import type { ShardReport, ShardRequest, ShardThread } from './shard-thread.ts';
import { openVisitor } from './visitor/visitor.ts';

/** Between two tries of a commit that the disk refused. */
const retryMs = 500;
const reportMs = 1_000;

const line = openThreadLine<ShardThread, ShardReport, ShardRequest>();
const { setup, send } = line;

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
let isReporting = false;
let timer: NodeJS.Timeout | undefined;
let fault: string | undefined;
let reportedScans = 0;

function turn(): void {
  let waitMs = setup.windowMs;
  try {
    const startedMs = systemClock.monotonicMs();
    const hasMore = shard.turn();
    fault = undefined;
    if (shard.committedScans !== reportedScans) {
      reportedScans = shard.committedScans;
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
  timer = setTimeout(turn, waitMs);
}

function stop(): void {
  shard.close();
  void shard.consumed().then((consumed) => {
    send({ kind: 'consumed', consumed });
    return store.environment.close().then(() => process.exit(0));
  });
}

function report(): void {
  send({ kind: 'figures', figures: shard.figures(), fault });
  const expired = shard.expiry.takeDone();
  if (expired.length > 0) send({ kind: 'expired', codeNos: expired });
  if (isReporting) return;
  isReporting = true;
  void shard
    .consumed()
    .then((consumed) => send({ kind: 'consumed', consumed }))
    .catch((error: unknown) => {
      fault = error instanceof Error ? error.message : String(error);
    })
    .finally(() => {
      isReporting = false;
    });
}

line.onRequest((request) => {
  if (request.kind === 'delivered') {
    shard.delivered(request.block);
    return;
  }
  if (request.kind === 'expire') {
    shard.expiry.add(request.codes);
    return;
  }
  isStopping = true;
  clearTimeout(timer);
  turn();
});
setInterval(report, reportMs).unref();
turn();
