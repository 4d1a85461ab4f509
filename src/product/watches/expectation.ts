/**
 * Decides whether a subject has been silent for longer than chance explains, and whether its last hour was far above its
 * average. These functions read and store nothing.
 *
 *   average of an hour   of the same hour of the week on the workspace's clocks, the newest 4 of the 8 weeks before, at least 2; hours in a gap
 *                        (the service was down, the code was paused) count for nothing, neither as 0 nor as one of them
 *   silence              hours without a scan, backwards from the last whole hour; hours in a gap are passed over.
 *                        It is one when there are `silentHours` of them and their averages sum to 8 scans or more: where
 *                        scans come independently, none of 8 expected ones come in 0.03 % of all cases. Below that, as in
 *                        the night, it continues until the sum is reached.
 *   spike                the last whole hour has `factor` times its average, 20 scans, and 5 standard deviations more
 *                        than it: an average of 3 has 20 by chance in less than one of a million hours
 *   the end of a spike   an hour below half of the way from its average to the factor, so that it does not end and
 *                        begin with every second hour
 *
 * The averages of a silence are those of the weeks before it began: it does not become what is usual.
 */
import { hourMs } from '../../model/day.ts';

const hoursPerWeek = 168;
const weeksBack = 8;
const samplesMax = 4;
const samplesLeast = 2;
/** Poisson: e^-8 = 0.03 %. */
export const expectedLeast = 8;
export const spikeScansLeast = 20;
const spikeDeviations = 5;
/** The longest silence that is measured. */
const quietHoursMax = 400;

export interface HourCounts {
  /** Since the epoch. */
  readonly firstHour: number;
  /** Of each hour from it on, to the present one. */
  readonly counts: ArrayLike<number>;
}

export interface Evidence extends HourCounts {
  /** The first hour that is not whole and counted. */
  readonly endHour: number;
  /** The first whole hour of the subject: before it nothing could be scanned. */
  readonly knownFrom: number;
  /** From here on it is known whether the service was running. */
  readonly observedFrom: number;
  readonly isInGap: (hour: number) => boolean;
  /** Hours that the clocks of its workspace are ahead of UTC. */
  readonly offsetOf: (hour: number) => number;
}

export interface Quiet {
  /** When the last scan was, to the hour. */
  readonly sinceMs: number;
  /** Hours without one, gaps apart. */
  readonly hours: number;
  /** Scans that they should have had. */
  readonly expected: number;
}

export interface HourReading {
  readonly sinceMs: number;
  readonly scans: number;
  readonly expected: number;
  readonly isSpike: boolean;
  readonly isUsual: boolean;
}

/** Scans of an hour; 0 outside of what is known. */
const countAt = ({ firstHour, counts }: HourCounts, hour: number): number =>
  counts[hour - firstHour] ?? 0;

/** @param before only hours before this one count @returns undefined where fewer than two are known */
export function averageOf(evidence: Evidence, hour: number, before: number): number | undefined {
  let sum = 0;
  let samples = 0;
  for (let week = 1; week <= weeksBack && samples < samplesMax; week++) {
    const sameInUtc = hour - week * hoursPerWeek;
    const at = sameInUtc + evidence.offsetOf(hour) - evidence.offsetOf(sameInUtc);
    if (at < Math.max(evidence.knownFrom, evidence.firstHour)) break;
    if (at >= before || evidence.isInGap(at)) continue;
    sum += countAt(evidence, at);
    samples += 1;
  }
  return samples < samplesLeast ? undefined : sum / samples;
}

/** The hours without a scan until now; undefined where there are none. */
export function quietOf(evidence: Evidence): Quiet | undefined {
  const { firstHour, counts, endHour, isInGap } = evidence;
  for (let at = firstHour + counts.length - 1; at >= endHour; at--) {
    if (countAt(evidence, at) > 0) return undefined;
  }
  const oldest = Math.max(firstHour, evidence.knownFrom, evidence.observedFrom);
  const hours: number[] = [];
  let from = endHour;
  for (; from > oldest && hours.length < quietHoursMax; from--) {
    if (countAt(evidence, from - 1) > 0) break;
    if (!isInGap(from - 1)) hours.push(from - 1);
  }
  if (hours.length === 0) return undefined;
  const expected = hours.reduce((sum, hour) => sum + (averageOf(evidence, hour, from) ?? 0), 0);
  return { sinceMs: from * hourMs, hours: hours.length, expected };
}

export const isSilence = (quiet: Quiet, silentHours: number): boolean =>
  quiet.hours >= silentHours && quiet.expected >= expectedLeast;

/** The end of the last hour that has a scan; undefined without one. */
export function lastScanMs(evidence: HourCounts): number | undefined {
  for (let at = evidence.counts.length - 1; at >= 0; at--) {
    if ((evidence.counts[at] ?? 0) > 0) return (evidence.firstHour + at + 1) * hourMs;
  }
  return undefined;
}

/** The last whole hour; undefined where it says nothing. */
export function lastHourOf(evidence: Evidence, factor: number): HourReading | undefined {
  const hour = evidence.endHour - 1;
  if (evidence.isInGap(hour) || hour < evidence.firstHour) return undefined;
  const expected = averageOf(evidence, hour, hour);
  if (expected === undefined) return undefined;
  const scans = countAt(evidence, hour);
  const far = expected + spikeDeviations * Math.sqrt(Math.max(1, expected));
  const isSpike = scans >= Math.max(spikeScansLeast, expected * factor, far);
  const usual = Math.max(spikeScansLeast / 2, (expected * (1 + factor)) / 2);
  const isUsual = !isSpike && scans < usual;
  return { sinceMs: hour * hourMs, scans, expected, isSpike, isUsual };
}
