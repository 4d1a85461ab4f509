/**
 * Computes the next findings of a watch from its findings and a reading, and opens and ends incidents. This file ensures one
 * incident per outage: a reading that repeats the findings changes nothing.
 *
 *   silent   begins with a silence; ends with a scan after its beginning, or when no scans are expected any more
 *   spiking  begins with an hour that is a spike; ends with a later hour that is usual, or as above
 *   targets  the first failure is stored; a second one at least an hour later begins an incident; an answer ends both.
 *            An inconclusive result (the guard refused the address, status 429, this machine may be offline) changes
 *            nothing. If the code no longer leads to the address, the incident ends as `changed`; if it leads nowhere
 *            (a paused code), as `not_expected`.
 */
import { hourMs } from '../../model/day.ts';
import {
  type FailingTarget,
  type IdleReason,
  type IncidentEnd,
  type TargetFault,
  type TargetFaultClass,
  type TargetAnswer,
  type WatchFindings,
  type WatchRules,
} from '../../model/watches/watch.ts';
import { type HourReading, isSilence, type Quiet } from './expectation.ts';
import { historyMs, withGap } from './hour-history.ts';
import type { Beginning } from './incidents.ts';

/** Inactive times of a watch that are remembered. */
const gapsMax = 32;
/** Targets of a watch that fail at a time; others are noted when one of them recovers. */
const failingMax = 20;

export interface ScansReading {
  readonly nowMs: number;
  readonly idle: IdleReason | undefined;
  readonly quiet?: Quiet | undefined;
  readonly lastScanMs?: number | undefined;
  readonly lastHour?: HourReading | undefined;
}

/** What the caller does inside the transaction. */
export interface IncidentWriter {
  /** @returns the id */
  begin(beginning: Omit<Beginning, 'name'>): string;
  end(incidentId: string, endedBy: IncidentEnd, status?: number): void;
}

/** Without the times at which it is due. */
export function concludeScans(
  before: WatchFindings,
  { silentHours, spikeFactor }: WatchRules,
  reading: ScansReading,
  writer: IncidentWriter,
): WatchFindings {
  const { nowMs, idle, quiet, lastScanMs = 0, lastHour } = reading;
  const { silent: _silent, spiking: _spiking, idle: _idle, ...rest } = before;
  let { silent, spiking } = before;
  const isOver = idle !== undefined;
  if (silent !== undefined && (isOver || lastScanMs > silent.sinceMs)) {
    writer.end(silent.incidentId, isOver ? 'not_expected' : 'recovered');
    silent = undefined;
  }
  if (spiking !== undefined) {
    const isLater = lastHour !== undefined && lastHour.sinceMs > spiking.sinceMs;
    if (isOver || (isLater && lastHour.isUsual)) {
      writer.end(spiking.incidentId, isOver ? 'not_expected' : 'recovered');
      spiking = undefined;
    }
  }
  if (!isOver && silent === undefined && silentHours !== undefined && quiet !== undefined) {
    if (isSilence(quiet, silentHours)) {
      const { sinceMs, hours } = quiet;
      const expected = rounded(quiet.expected);
      const incidentId = writer.begin({ kind: 'silent', sinceMs, hours, expected, seen: 0 });
      silent = { incidentId, sinceMs };
    }
  }
  if (!isOver && spiking === undefined && spikeFactor !== undefined && lastHour?.isSpike === true) {
    const { sinceMs, scans: seen } = lastHour;
    const expected = rounded(lastHour.expected);
    const incidentId = writer.begin({ kind: 'spiking', sinceMs, expected, seen });
    spiking = { incidentId, sinceMs };
  }
  return {
    ...rest,
    ...idleAfter(before, idle, nowMs),
    ...(silent === undefined ? {} : { silent }),
    ...(spiking === undefined ? {} : { spiking }),
    scansCheckedAtMs: nowMs,
  };
}

/** When it was inactive becomes a gap once it is active again. */
function idleAfter(
  { idle: before, gaps, scansCheckedAtMs }: WatchFindings,
  reason: IdleReason | undefined,
  nowMs: number,
): Pick<WatchFindings, 'idle' | 'gaps'> {
  const isSame = before !== undefined && before.reason === reason;
  // It may have been inactive since the last check.
  const sinceMs = reason === 'inactive' ? (scansCheckedAtMs ?? nowMs) : nowMs;
  const idle = isSame ? before : reason === undefined ? undefined : { reason, sinceMs };
  const wasInactive = before?.reason === 'inactive' && !isSame;
  const after = wasInactive ? withGap(gaps, [before.sinceMs, nowMs], nowMs, gapsMax) : gaps;
  return { ...(idle === undefined ? {} : { idle }), gaps: after };
}

/** Scans to a tenth. */
const rounded = (scans: number): number => Math.round(scans * 10) / 10;

export type TargetResult =
  | { readonly is: 'answering'; readonly status?: number }
  | { readonly is: 'failing' | 'inconclusive'; readonly fault: TargetFaultClass; status?: number };

const statusTooMany = 429;

/** @param isOffline no host at all could be reached recently */
export function resultOf({ status, failure }: TargetAnswer, isOffline: boolean): TargetResult {
  if (status !== undefined) {
    if (status === statusTooMany) return { is: 'inconclusive', fault: 'rate_limited', status };
    if (status >= 400) return { is: 'failing', fault: 'status', status };
    return { is: 'answering', status };
  }
  const fault = failure ?? 'unknown';
  if (fault === 'blocked_ip' || fault === 'unknown') return { is: 'inconclusive', fault };
  if (isOffline && isUnreached(fault)) return { is: 'inconclusive', fault: 'offline' };
  return { is: 'failing', fault };
}

/** No host was reached: it may be this machine. */
export const isUnreached = (fault: TargetFaultClass | undefined): boolean =>
  fault === 'dns' || fault === 'connect' || fault === 'timeout';

export interface CheckedTarget {
  readonly url: string;
  readonly atMs: number;
  readonly result: TargetResult;
}

/** Without the times at which it is due. @param checked every address that people are led to now */
export function concludeTargets(
  before: WatchFindings,
  checked: readonly CheckedTarget[],
  nowMs: number,
  writer: IncidentWriter,
): WatchFindings {
  const results = new Map(checked.map((one) => [one.url, one]));
  const failing: FailingTarget[] = [];
  let { lastFault } = before;
  const noLonger = checked.length === 0 ? 'not_expected' : 'changed';
  for (const known of before.failing) {
    const now = results.get(known.url);
    results.delete(known.url);
    if (now === undefined || now.result.is === 'answering') {
      if (known.incidentId === undefined) continue;
      if (now === undefined) writer.end(known.incidentId, noLonger);
      else writer.end(known.incidentId, 'recovered', now.result.status);
      continue;
    }
    lastFault = faultOf(now) ?? lastFault;
    failing.push(now.result.is === 'failing' ? failedAgain(known, now, writer) : known);
  }
  for (const one of results.values()) {
    lastFault = faultOf(one) ?? lastFault;
    if (one.result.is !== 'failing' || failing.length >= failingMax) continue;
    failing.push({ url: one.url, sinceMs: one.atMs });
  }
  return {
    ...before,
    failing,
    targetCheckedAtMs: nowMs,
    ...(lastFault === undefined ? {} : { lastFault }),
  };
}

function failedAgain(
  known: FailingTarget,
  { url, atMs, result }: CheckedTarget,
  writer: IncidentWriter,
): FailingTarget {
  if (known.incidentId !== undefined || result.is === 'answering') return known;
  const { sinceMs } = known;
  // The clock was set back, or the first failure is too old: this one is the first.
  if (atMs < sinceMs || atMs - sinceMs > historyMs) return { url, sinceMs: atMs };
  if (atMs - sinceMs < hourMs) return known;
  const { fault, status } = result;
  const answered = status === undefined ? {} : { status };
  const incidentId = writer.begin({ kind: 'target_failing', sinceMs, url, fault, ...answered });
  return { ...known, incidentId };
}

function faultOf({ url, atMs, result }: CheckedTarget): TargetFault | undefined {
  if (result.is === 'answering') return undefined;
  const { fault, status } = result;
  return { url, atMs, fault, ...(status === undefined ? {} : { status }) };
}
