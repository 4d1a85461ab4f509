/**
 * Looks at what is watched, on the machine that writes: the only one, or the leader of a cluster.
 *
 *   every 5 s   the service runs, counting is up to date            (running.ts)
 *               watches whose hour is due    -> read, conclude -> one transaction for up to 8 of them
 *               watches whose targets are due -> a round of requests -> one transaction each     (target-rounds.ts)
 *               letters that wait            -> the mailer
 *
 * Scans are looked at once after each hour, a minute or more after its end, each watch at a minute of its own; every five
 * minutes while it has an incident. Targets once a day; every hour while one of them fails or could not be asked.
 *
 * When each is due is stored, so a restart, a takeover and another leader keep the rhythm; timers.ts moves what stands in
 * the way. A clock that is set forward makes all due at once, which does no harm, as does looking twice: what is found is
 * compared with what is stored, in the transaction that writes both (conclusions.ts). A watch that was changed while it
 * was read is read again.
 *
 * A watch of a code that is scanned every second hour takes 0.3 ms an hour, one after the other with a yield between; the
 * first time after a start 2.3 ms (hour-history.ts).
 *
 * A letter is taken out of its table before it is handed to the mailer: it goes out once, and is lost where the process
 * ends in the seconds until the mail server has it.
 */
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import type { Clock } from '../model/clock.ts';
import { dayMs, hourMs } from '../model/day.ts';
import { Failure, readOr } from '../model/failure.ts';
import {
  type RunningRecord,
  type WatchFindings,
  type WatchRecord,
} from '../model/watches/watch.ts';
import type { Management } from '../store/management/management.ts';
import type { Logger } from '../telemetry/log.ts';
import { Ticker } from '../telemetry/ticker.ts';
import type { AlertPost } from './alert-post.ts';
import {
  type CheckedTarget,
  concludeScans,
  concludeTargets,
  type IncidentWriter,
  type ScansReading,
} from './conclusions.ts';
import { type Evidence, lastHourOf, lastScanMs, quietOf } from './expectation.ts';
import { putFindings, withDue } from './findings.ts';
import { isInGap } from './gaps.ts';
import type { HourHistory } from './hour-history.ts';
import type { Incidents } from './incidents.ts';
import { localHoursOf } from './local-hours.ts';
import { observedFrom, type Running, wasDown } from './running.ts';
import type { SeenSubject, Subjects } from './subjects.ts';
import type { TargetRounds } from './target-rounds.ts';
import { type TimerKey, Timers } from './timers.ts';
import type { WatchMeter } from './watch-metrics.ts';
import type { Watches } from './watches.ts';

const tickMs = 5_000;
/** Watches read in one tick, and written in one transaction. */
const readsMax = 500;
const writesMax = 8;
/** After the end of an hour, until its scans are counted for certain. */
const afterHourMs = 60_000;
/** Over which watches are spread. */
const spreadMs = 540_000;
const incidentEveryMs = 300_000;
const targetEveryMs = dayMs;
const targetAgainMs = hourMs;
/** Numbers that are older say nothing of the last hour. */
const countingMsMax = 300_000;

export interface WatchSchedulerOptions {
  readonly store: Management;
  readonly clock: Clock;
  readonly log: Logger;
  readonly watches: Watches;
  readonly incidents: Incidents;
  readonly subjects: Subjects;
  readonly history: HourHistory;
  readonly running: Running;
  readonly rounds: TargetRounds;
  readonly post: AlertPost;
  readonly meter: WatchMeter;
}

/** What was read of a watch; `gone`: its code or campaign is. */
interface Read {
  readonly watch: WatchRecord;
  readonly reading: ScansReading | 'gone' | 'failed';
}

export class WatchScheduler {
  readonly #options: WatchSchedulerOptions;
  readonly #timers: Timers;
  readonly #ticker: Ticker;
  readonly #concluding = new Set<Promise<void>>();
  /** Where the walk over due targets goes on; undefined = from the one that is due the longest. */
  #walkedTo: TimerKey | undefined;
  #isClosed = false;

  constructor(options: WatchSchedulerOptions) {
    this.#options = options;
    this.#timers = new Timers(options);
    this.#ticker = new Ticker({
      everyMs: tickMs,
      log: options.log,
      run: () => this.tick(),
      failed: 'watches failed, retrying',
      resumed: 'watches resumed',
    });
  }

  start(): void {
    this.#ticker.start();
  }

  /** Resolves when nothing runs, and nothing will. Before the environments are closed. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#ticker.close();
    await this.#options.rounds.close();
    await Promise.all(this.#concluding);
  }

  /** How long the most overdue watch has been due, ms. */
  get behindMs(): number {
    const { store, clock } = this.#options;
    const { scansDue, targetDue } = store.watches;
    const first = [...scansDue.keys({ limit: 1 }), ...targetDue.keys({ limit: 1 })];
    return first.reduce((most, [dueMs]) => Math.max(most, clock.now() - dueMs), 0);
  }

  /** One round of all of it: for the ticker, and a test with its own clock. */
  async tick(): Promise<void> {
    const { store, running, rounds, post } = this.#options;
    const isWatching = [...store.watches.workspaceWatches.keys({ limit: 1 })].length > 0;
    await running.tick(isWatching);
    await post.tick();
    if (!isWatching) return;
    await this.#timers.moveFar();
    const { record, countedToMs } = running;
    if (record !== undefined && countedToMs !== undefined) {
      await this.#readScans(record, countedToMs);
    }
    await this.#beginRounds();
    rounds.tick();
  }

  /** Resolves when the requests that were started have ended, and what they came to is stored. */
  async settled(): Promise<void> {
    await this.#options.rounds.settled();
    await Promise.all(this.#concluding);
  }

  async #readScans(record: RunningRecord, countedToMs: number): Promise<void> {
    const { store, clock } = this.#options;
    const nowMs = clock.now();
    if (nowMs - countedToMs > countingMsMax || nowMs - record.lastMs > countingMsMax) return;
    const end: TimerKey = [nowMs + 1, ''];
    const due = [...store.watches.scansDue.keys({ end, limit: readsMax })];
    const unreadable: TimerKey[] = [];
    let read: Read[] = [];
    for (const [at, key] of due.entries()) {
      if (this.#isClosed) return;
      const watch = this.#timers.watchOf(key[1]);
      if (watch === undefined) unreadable.push(key);
      else read.push(await this.#read(watch, record, countedToMs));
      if (read.length === writesMax || at === due.length - 1) {
        await this.#writeScans(read);
        read = [];
      }
      await yieldToEventLoop();
    }
    await this.#timers.moveUnreadable('scansDue', unreadable);
  }

  async #read(watch: WatchRecord, record: RunningRecord, countedToMs: number): Promise<Read> {
    const { clock, subjects, history, log } = this.#options;
    try {
      const seen = await subjects.inspect(watch);
      if (seen === undefined) return { watch, reading: 'gone' };
      const nowMs = clock.now();
      const { idle } = seen;
      if (idle !== undefined) return { watch, reading: { nowMs, idle } };
      const hours = await history.read(watch.id, seen, { nowMs, countedToMs });
      const evidence = this.#evidenceOf(watch, seen, record, { ...hours, countedToMs });
      return { watch, reading: { nowMs, idle, ...readingOf(watch, evidence) } };
    } catch (err) {
      // Too many reports at a time, or damage: it is looked at again in a while.
      const isExpected = err instanceof Failure;
      log[isExpected ? 'debug' : 'error']({ err, watch: watch.id }, 'a watch could not be read');
      return { watch, reading: 'failed' };
    }
  }

  #evidenceOf(
    { id, workspaceNo }: WatchRecord,
    { beginMs }: SeenSubject,
    record: RunningRecord,
    hours: Pick<Evidence, 'firstHour' | 'counts'> & { readonly countedToMs: number },
  ): Evidence {
    const { watches, clock, store } = this.#options;
    const { gaps, idle } = watches.findingsOf(id);
    const nowMs = clock.now();
    // It is active again since now: that is written with this reading.
    const since = idle?.reason === 'inactive' ? Math.ceil(nowMs / hourMs) : 0;
    const zone = store.workspaces.get(workspaceNo)?.timezone;
    return {
      ...hours,
      endHour: Math.floor(hours.countedToMs / hourMs),
      knownFrom: Math.ceil(beginMs / hourMs),
      observedFrom: Math.max(observedFrom(record), since),
      isInGap: (hour) => wasDown(record, hour) || isInGap(gaps, hour),
      offsetOf: localHoursOf(zone),
    };
  }

  /** @throws Failure storage_full, not_active */
  async #writeScans(read: readonly Read[]): Promise<void> {
    const { store, watches, meter, history } = this.#options;
    const { environment, watches: tables } = store;
    await environment.transaction(() => {
      for (const { watch, reading } of read) {
        const before = this.#unchanged(watch);
        if (before === undefined) continue;
        if (reading === 'gone') watches.remove(watch);
        else putFindings(tables, watch.id, before, this.#scansAfter(watch, before, reading));
      }
    });
    for (const { watch, reading } of read) {
      if (reading === 'gone') history.free(watch.id);
      meter.checked('scans', typeof reading === 'string' ? reading : 'read');
    }
  }

  #scansAfter(
    watch: WatchRecord,
    before: WatchFindings,
    reading: ScansReading | 'failed',
  ): WatchFindings {
    const nowMs = this.#options.clock.now();
    const { targetDueMs } = before;
    const next = nextHourMs(watch.id, nowMs);
    if (reading === 'failed') {
      return withDue(before, { targetDueMs, scansDueMs: Math.min(next, nowMs + incidentEveryMs) });
    }
    const after = concludeScans(before, watch, reading, this.#writerOf(watch));
    const isOpen = after.silent !== undefined || after.spiking !== undefined;
    const scansDueMs = isOpen ? Math.min(next, nowMs + incidentEveryMs) : next;
    return withDue(after, { targetDueMs, scansDueMs });
  }

  /** Its findings, unless it was changed or deleted since it was read. Inside a transaction. */
  #unchanged({ id, revision }: WatchRecord): WatchFindings | undefined {
    const { watches, findings } = this.#options.store.watches;
    if (watches.get(id, () => undefined)?.revision !== revision) return undefined;
    return findings.get(id, () => undefined);
  }

  /** Incidents of a watch begin and end with the transaction that runs. */
  #writerOf(watch: WatchRecord): IncidentWriter {
    const { incidents, subjects, meter } = this.#options;
    return {
      begin: (beginning) => {
        const name = subjects.nameOf(watch.workspaceNo, watch.subject) ?? '';
        meter.begun(beginning.kind);
        return incidents.begin(watch, { ...beginning, name });
      },
      end: (id, endedBy, status) => incidents.end(watch, id, endedBy, status),
    };
  }

  /**
   * A walk over what is due, some in a tick, and round again: those of a workspace that has its share of the rounds are
   * passed by, and keep nobody from being reached.
   */
  async #beginRounds(): Promise<void> {
    const { store, clock, rounds } = this.#options;
    const start: TimerKey = this.#walkedTo ?? [0, ''];
    const end: TimerKey = [clock.now() + 1, ''];
    const due = [...store.watches.targetDue.keys({ start, end, limit: readsMax })];
    const unreadable: TimerKey[] = [];
    for (const key of due) {
      if (this.#isClosed) return;
      if (rounds.isFull) break;
      this.#walkedTo = key;
      if (rounds.has(key[1])) continue;
      const watch = this.#timers.watchOf(key[1]);
      if (watch === undefined) unreadable.push(key);
      else if (rounds.mayBegin(watch)) await this.#beginRound(watch);
    }
    if (due.length < readsMax && !rounds.isFull) this.#walkedTo = undefined;
    await this.#timers.moveUnreadable('targetDue', unreadable);
  }

  async #beginRound(watch: WatchRecord): Promise<void> {
    const { subjects, rounds, log } = this.#options;
    try {
      const urls = await subjects.urlsOf(watch);
      rounds.begin(watch, urls, (checked) => this.#conclude(watch, checked));
    } catch (err) {
      log.debug({ err, watch: watch.id }, 'the targets of a watch could not be read');
      this.#conclude(watch, undefined);
    }
    await yieldToEventLoop();
  }

  /** @param checked undefined = nothing could be asked */
  #conclude(watch: WatchRecord, checked: readonly CheckedTarget[] | undefined): void {
    if (this.#isClosed) return;
    const concluding = this.#writeTargets(watch, checked)
      .catch((err: unknown) => {
        // The watch stays due: it is asked for again.
        this.#options.log.debug({ err, watch: watch.id }, 'the targets of a watch were not stored');
      })
      .finally(() => this.#concluding.delete(concluding));
    this.#concluding.add(concluding);
  }

  /** @throws Failure storage_full, not_active */
  async #writeTargets(
    watch: WatchRecord,
    checked: readonly CheckedTarget[] | undefined,
  ): Promise<void> {
    const { store, clock, meter, subjects, watches } = this.#options;
    const { environment, watches: tables } = store;
    await environment.transaction(() => {
      const before = this.#unchanged(watch);
      if (before === undefined) return;
      const name = readOr(() => subjects.nameOf(watch.workspaceNo, watch.subject), 'damaged');
      if (name === undefined) return watches.remove(watch);
      const nowMs = clock.now();
      const writer = this.#writerOf(watch);
      const after =
        checked === undefined ? before : concludeTargets(before, checked, nowMs, writer);
      const isClear = checked?.every(({ result }) => result.is === 'answering') ?? false;
      const targetDueMs = nowMs + (isClear ? targetEveryMs : targetAgainMs);
      putFindings(
        tables,
        watch.id,
        before,
        withDue(after, { scansDueMs: before.scansDueMs, targetDueMs }),
      );
    });
    for (const { result } of checked ?? []) meter.checked('target', result.is);
  }
}

function readingOf(
  { silentHours, spikeFactor, createdAtMs }: WatchRecord,
  evidence: Evidence,
): Pick<ScansReading, 'quiet' | 'lastScanMs' | 'lastHour'> {
  const lastHour = spikeFactor === undefined ? undefined : lastHourOf(evidence, spikeFactor);
  return {
    quiet: silentHours === undefined ? undefined : quietOf(evidence),
    lastScanMs: lastScanMs(evidence),
    // Hours that were over when the watch was made are not told.
    lastHour: lastHour && lastHour.sinceMs + hourMs > createdAtMs ? lastHour : undefined,
  };
}

/** After the end of this hour, at a minute that is the watch's own. */
function nextHourMs(id: string, nowMs: number): number {
  let mixed = 0;
  for (const char of id) mixed = (mixed * 31 + char.charCodeAt(0)) % 9_973;
  const ownMs = afterHourMs + (mixed / 9_973) * spreadMs;
  const hour = Math.floor((nowMs - ownMs) / hourMs) + 1;
  return Math.ceil(hour * hourMs + ownMs);
}
