/**
 * Checks watches on the machine that writes: the only one, or the leader of a cluster.
 *
 *   every 5 s   record that the service runs and how far counting is       (running.ts)
 *               watches whose hour is due    -> read, conclude -> one transaction for up to 8 of them
 *               watches whose targets are due -> a round of requests -> one transaction each     (target-rounds.ts)
 *
 * Scans are checked once after each hour, at least a minute after its end, each watch at its own minute; every five
 * minutes during an incident. Targets are checked once a day; every hour while one fails or is inconclusive.
 *
 * Due times are stored, so a restart, an upgrade or a new leader keeps the rhythm. A clock that is set forward makes all
 * watches due at once, which is harmless, as is checking twice: conclusions.ts compares a reading with the stored findings
 * in the transaction that writes both. A watch that changed during its reading is read again; a damaged one is left out.
 *
 * A watch of a code that is scanned every second hour takes 2.3 ms an hour (hour-history.ts).
 */
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import type { Clock } from '../../model/clock.ts';
import { dayMs, hourMs } from '../../model/day.ts';
import { Failure, readOr } from '../../model/failure.ts';
import {
  type RunningRecord,
  type WatchFindings,
  type WatchRecord,
} from '../../model/watches/watch.ts';
import type { ScanAnalytics } from '../../engine/analytics/analytics.ts';
import type { DueEntry } from '../../store/due-table.ts';
import type { Management } from '../../store/management/management.ts';
import type { Logger } from '../../platform/log.ts';
import type { CounterHandle } from '../../platform/metrics.ts';
import { Ticker } from '../../platform/ticker.ts';
import {
  type CheckedTarget,
  concludeScans,
  concludeTargets,
  type IncidentWriter,
  type ScansReading,
} from './conclusions.ts';
import { type Evidence, lastHourOf, lastScanMs, quietOf } from './expectation.ts';
import { isInGap, localHoursOf, readHours } from './hour-history.ts';
import type { Incidents, Reported } from './incidents.ts';
import { observedFrom, type Running, wasDown } from './running.ts';
import type { SeenSubject, Subjects } from './subjects.ts';
import type { TargetRounds } from './target-rounds.ts';
import type { Watches } from './watches.ts';

const tickMs = 5_000;
/** Watches read in one tick, and written in one transaction. */
const readsMax = 500;
const writesMax = 8;
/** After the end of an hour, until its scans are counted for certain. */
const afterHourMs = 60_000;
/** Watches are spread over this time. */
const spreadMs = 540_000;
const incidentEveryMs = 300_000;
const targetEveryMs = dayMs;
const targetAgainMs = hourMs;
/** Timers beyond these were set by a clock that ran ahead. */
const scansDueMsMax = 2 * hourMs;
const targetDueMsMax = dayMs + hourMs;
/** Numbers that are older say nothing of the last hour. */
const countingMsMax = 300_000;

export interface WatchSchedulerOptions {
  readonly store: Management;
  readonly clock: Clock;
  readonly log: Logger;
  readonly watches: Watches;
  readonly incidents: Incidents;
  readonly subjects: Subjects;
  readonly scans: Pick<ScanAnalytics, 'series'>;
  readonly running: Running;
  readonly rounds: TargetRounds;
  /** Looks, by `what`: `scans` (read, gone, failed) or `target` (answering, failing, inconclusive). */
  readonly checks: CounterHandle;
  readonly begun: CounterHandle;
}

/** The reading of a watch; `gone`: its code or campaign is deleted. */
interface Read {
  readonly watch: WatchRecord;
  readonly reading: ScansReading | 'gone' | 'failed';
}

export class WatchScheduler {
  readonly #options: WatchSchedulerOptions;
  readonly #ticker: Ticker;
  readonly #concluding = new Set<Promise<void>>();
  /** Where the walk over due targets continues; undefined = at the oldest. */
  #walkedTo: DueEntry<[string]> | undefined;
  #isClosed = false;

  constructor(options: WatchSchedulerOptions) {
    this.#options = options;
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

  /** Resolves after the last run. Call it before the environments are closed. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#ticker.close();
    await this.#options.rounds.close();
    await Promise.all(this.#concluding);
  }

  /** How long the most overdue watch has been due, ms. A damaged one stays due, so it does not count. */
  get behindMs(): number {
    const { store, clock } = this.#options;
    const nowMs = clock.now();
    const lags = [store.watches.scansDue, store.watches.targetDue].map((timers) => {
      const first = timers.due(nowMs, readsMax).find(([, id]) => this.#find(id) !== undefined);
      return first === undefined ? 0 : nowMs - first[0];
    });
    return Math.max(...lags);
  }

  /** One round of all checks: for the ticker, and for a test with its own clock. */
  async tick(): Promise<void> {
    const { store, running, rounds, clock } = this.#options;
    const isWatching = [...store.watches.workspaceWatches.keys({ limit: 1 })].length > 0;
    await running.tick(isWatching);
    if (!isWatching) return;
    const nowMs = clock.now();
    await store.watches.scansDue.pullIn(nowMs + scansDueMsMax, nowMs);
    await store.watches.targetDue.pullIn(nowMs + targetDueMsMax, nowMs);
    const { record, countedToMs } = running;
    if (record !== undefined && countedToMs !== undefined) {
      await this.#readScans(record, countedToMs);
    }
    await this.#beginRounds();
    rounds.tick();
  }

  /** Resolves when all started requests have ended and their results are stored. */
  async settled(): Promise<void> {
    await this.#options.rounds.settled();
    await Promise.all(this.#concluding);
  }

  async #readScans(record: RunningRecord, countedToMs: number): Promise<void> {
    const { store, clock } = this.#options;
    const nowMs = clock.now();
    if (nowMs - countedToMs > countingMsMax || nowMs - record.lastMs > countingMsMax) return;
    const due = store.watches.scansDue.due(nowMs, readsMax);
    let read: Read[] = [];
    for (const [at, [, id]] of due.entries()) {
      if (this.#isClosed) return;
      const watch = this.#find(id);
      if (watch !== undefined) read.push(await this.#read(watch, record, countedToMs));
      if (read.length === writesMax || (read.length > 0 && at === due.length - 1)) {
        await this.#writeScans(read);
        read = [];
      }
      await yieldToEventLoop();
    }
  }

  /** Undefined where the watch or its findings cannot be read. */
  #find(id: string): WatchRecord | undefined {
    const { watches, findings } = this.#options.store.watches;
    const watch = watches.get(id, () => undefined);
    return findings.get(id, () => undefined) === undefined ? undefined : watch;
  }

  async #read(watch: WatchRecord, record: RunningRecord, countedToMs: number): Promise<Read> {
    const { clock, subjects, scans, log } = this.#options;
    try {
      const seen = await subjects.inspect(watch);
      if (seen === undefined) return { watch, reading: 'gone' };
      const nowMs = clock.now();
      const { idle } = seen;
      if (idle !== undefined) return { watch, reading: { nowMs, idle } };
      const hours = await readHours(scans, seen.scans, nowMs);
      const evidence = this.#evidenceOf(watch, seen, record, { ...hours, countedToMs });
      return { watch, reading: { nowMs, idle, ...readingOf(watch, evidence) } };
    } catch (err) {
      // Too many reports at a time, or damage: the watch is read again later.
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
    // It is active again from now on: this reading stores that.
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
    const { store, watches, checks } = this.#options;
    const reported = await store.environment.transaction(() => {
      const reports: Reported = [];
      for (const { watch, reading } of read) {
        const before = this.#unchanged(watch);
        if (before === undefined) continue;
        if (reading === 'gone') watches.remove(watch);
        else this.#putScans(watch, before, reading, this.#writerOf(watch, reports));
      }
      return reports;
    });
    this.#mail(reported);
    for (const { reading } of read) {
      checks.add(1, { what: 'scans', result: typeof reading === 'string' ? reading : 'read' });
    }
  }

  #putScans(
    watch: WatchRecord,
    before: WatchFindings,
    reading: ScansReading | 'failed',
    writer: IncidentWriter,
  ): void {
    const { store, clock } = this.#options;
    const { findings, scansDue } = store.watches;
    const isFailed = reading === 'failed';
    const after = isFailed ? before : concludeScans(before, watch, reading, writer);
    const isSoon = isFailed || after.silent !== undefined || after.spiking !== undefined;
    const nowMs = clock.now();
    const next = nextHourMs(watch.id, nowMs);
    findings.put(watch.id, after);
    scansDue.set([watch.id], isSoon ? Math.min(next, nowMs + incidentEveryMs) : next);
  }

  /** Its findings, unless it was changed or deleted since it was read. Inside a transaction. */
  #unchanged({ id, revision }: WatchRecord): WatchFindings | undefined {
    const { watches, findings } = this.#options.store.watches;
    if (watches.get(id, () => undefined)?.revision !== revision) return undefined;
    return findings.get(id, () => undefined);
  }

  /** Incidents of a watch begin and end with the transaction that runs. */
  #writerOf(watch: WatchRecord, reported: Reported): IncidentWriter {
    const { incidents, subjects } = this.#options;
    return {
      begin: (beginning) => {
        const name = subjects.nameOf(watch.workspaceNo, watch.subject) ?? '';
        return incidents.begin(watch, { ...beginning, name }, reported);
      },
      end: (id, endedBy, status) => incidents.end(watch, id, endedBy, status, reported),
    };
  }

  /** After the commit. */
  #mail(reported: Reported): void {
    const { incidents, begun } = this.#options;
    for (const { incident, what } of reported) {
      if (what === 'begun') begun.add(1, { kind: incident.kind });
    }
    incidents.mail(reported);
  }

  /**
   * Walks over what is due, some entries in a tick, then from the start. Skips workspaces that have their share of the
   * rounds, so that they do not block others.
   */
  async #beginRounds(): Promise<void> {
    const { store, clock, rounds } = this.#options;
    const due = store.watches.targetDue.due(clock.now(), readsMax, this.#walkedTo);
    for (const key of due) {
      if (this.#isClosed) return;
      if (rounds.isFull) break;
      this.#walkedTo = key;
      if (rounds.has(key[1])) continue;
      const watch = this.#find(key[1]);
      if (watch !== undefined && rounds.mayBegin(watch)) await this.#beginRound(watch);
    }
    if (due.length < readsMax && !rounds.isFull) this.#walkedTo = undefined;
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
    const { store, clock, checks, subjects, watches } = this.#options;
    const { findings, targetDue } = store.watches;
    const reported = await store.environment.transaction(() => {
      const reports: Reported = [];
      const before = this.#unchanged(watch);
      if (before === undefined) return reports;
      const name = readOr(() => subjects.nameOf(watch.workspaceNo, watch.subject), 'damaged');
      if (name === undefined) {
        watches.remove(watch);
        return reports;
      }
      const nowMs = clock.now();
      const writer = this.#writerOf(watch, reports);
      const after =
        checked === undefined ? before : concludeTargets(before, checked, nowMs, writer);
      const isClear = checked?.every(({ result }) => result.is === 'answering') ?? false;
      findings.put(watch.id, after);
      targetDue.set([watch.id], nowMs + (isClear ? targetEveryMs : targetAgainMs));
      return reports;
    });
    this.#mail(reported);
    for (const { result } of checked ?? []) checks.add(1, { what: 'target', result: result.is });
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
    // Hours before the watch existed are not reported.
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
