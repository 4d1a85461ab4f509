/**
 * A watch: what somebody wants to be told of a code, a campaign or the whole workspace, and an incident: that it has
 * happened, from its beginning to its end.
 *
 *                    no scan for so long that chance does not explain it
 *   silent           ok ------------------------------------------------> incident --- a scan ---> ended
 *   spiking          ok -- an hour with far more than its usual ---------> incident --- an hour that is usual ---> ended
 *   target_failing   ok -- a target fails twice, an hour apart ----------> incident --- it answers ---> ended
 *
 * A watch has at most one open incident of `silent`, one of `spiking`, and one of `target_failing` for each target.
 */
import type { EventKind } from '../event.ts';
import type { WorkspaceNo } from '../numbers.ts';
import type { FailureClass } from '../webhook.ts';

export const incidentKinds = ['silent', 'spiking', 'target_failing'] as const;
export type IncidentKind = (typeof incidentKinds)[number];

/** The worst first: a watch is shown as the worst of its open incidents; `pending` = not checked yet. */
export const watchStates = ['target_failing', 'silent', 'spiking', 'pending', 'ok'] as const;
export type WatchState = (typeof watchStates)[number];

/** What an incident emits when it begins, and when it ends well. */
export const incidentEvents: Readonly<
  Record<IncidentKind, { readonly begun: EventKind; readonly ended?: EventKind }>
> = {
  silent: { begun: 'qr.silent' },
  spiking: { begun: 'qr.spiked' },
  target_failing: { begun: 'qr.target_failed', ended: 'qr.target_recovered' },
};

export const silentHoursMax = 336;
export const spikeFactorMin = 2;
export const spikeFactorMax = 100;
/** People that one watch writes to. */
export const mailToMax = 20;
/** Watches of a workspace: what an hour has to evaluate. */
export const watchesMax = 1_000;
/** Incidents of a workspace; the oldest that have ended go first, and more are kept only while they are open. */
export const incidentsKept = 1_000;

/** The id is that of the code or campaign. */
export type WatchSubject =
  | { readonly kind: 'workspace' }
  | { readonly kind: 'code' | 'campaign'; readonly id: string };

export interface WatchRules {
  /** Absent = silence is not looked for. */
  readonly silentHours?: number;
  /** Absent = spikes are not looked for. */
  readonly spikeFactor?: number;
  /** Whether targets are requested. */
  readonly target: boolean;
  /** User ids. */
  readonly mailTo: readonly string[];
}

export interface WatchRecord extends WatchRules {
  /** `wch_…` */
  readonly id: string;
  readonly workspaceNo: WorkspaceNo;
  readonly subject: WatchSubject;
  readonly createdBy: string;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
  /** Raised by each change: what was found by the rules before it is not used. */
  readonly revision: number;
}

/** Why no scans are expected now: its numbers are too young, or it leads nobody anywhere. */
export type IdleReason = 'learning' | 'inactive';

/** From, and until when, ms. */
export type Gap = readonly [fromMs: number, toMs: number];

/** How a request to a target ended, when it did not end well. */
export interface TargetFault {
  readonly atMs: number;
  readonly url: string;
  readonly fault: TargetFaultClass;
  readonly status?: number;
}

/**
 * The classes of a webhook's attempt, as far as they can be, and two more. `rate_limited`: it asked for fewer requests;
 * `offline`: no target of any host can be reached, so it may be this machine.
 */
export const targetFaults = [
  'status',
  'timeout',
  'dns',
  'connect',
  'tls',
  'reset',
  'blocked_ip',
  'redirect',
  'protocol',
  'unknown',
  'rate_limited',
  'offline',
] as const satisfies ReadonlyArray<FailureClass | 'rate_limited' | 'offline'>;
export type TargetFaultClass = (typeof targetFaults)[number];

/** A target that failed at its last check. */
export interface FailingTarget {
  readonly url: string;
  /** Its first failure in a row. */
  readonly sinceMs: number;
  /** From the second failure on. */
  readonly incidentId?: string;
}

/** What was found of a watch so far; written together with what it causes. */
export interface WatchFindings {
  /** Absent = neither silence nor spikes are looked for. */
  readonly scansDueMs?: number;
  /** Absent = targets are not checked. */
  readonly targetDueMs?: number;
  readonly scansCheckedAtMs?: number;
  readonly targetCheckedAtMs?: number;
  /** Absent = scans are expected. */
  readonly idle?: { readonly reason: IdleReason; readonly sinceMs: number };
  /** When it was inactive, oldest first: hours that say nothing. */
  readonly gaps: readonly Gap[];
  readonly silent?: { readonly incidentId: string; readonly sinceMs: number };
  readonly spiking?: { readonly incidentId: string; readonly sinceMs: number };
  readonly failing: readonly FailingTarget[];
  readonly lastFault?: TargetFault;
}

/** `not_expected`: the code was paused, or has ended; `changed`: the watch, or where the code leads. */
export const incidentEnds = ['recovered', 'not_expected', 'changed', 'deleted'] as const;
export type IncidentEnd = (typeof incidentEnds)[number];

export interface IncidentRecord {
  /** `inc_…` */
  readonly id: string;
  readonly watchId: string;
  readonly workspaceNo: WorkspaceNo;
  readonly kind: IncidentKind;
  readonly subject: WatchSubject;
  /** Of the subject, when it began. */
  readonly name: string;
  /** When what it is about began: the last scan, the hour, the first failure. */
  readonly sinceMs: number;
  readonly openedAtMs: number;
  readonly endedAtMs?: number;
  readonly endedBy?: IncidentEnd;
  /** Scans that its average has of that time, and those there were. */
  readonly expected?: number;
  readonly seen?: number;
  /** Hours without a scan. */
  readonly hours?: number;
  readonly url?: string;
  readonly fault?: TargetFaultClass;
  readonly status?: number;
}

/** Whether the service was running and counting, so that an hour without scans says something. */
export interface RunningRecord {
  /** Known from here on. */
  readonly sinceMs: number;
  readonly lastMs: number;
  readonly gaps: readonly Gap[];
}

/** The state that a watch is shown in. */
export function watchStateOf(findings: WatchFindings): WatchState {
  const { silent, spiking, failing } = findings;
  if (failing.some(({ incidentId }) => incidentId !== undefined)) return 'target_failing';
  if (silent !== undefined) return 'silent';
  if (spiking !== undefined) return 'spiking';
  const { scansDueMs, scansCheckedAtMs, targetDueMs, targetCheckedAtMs } = findings;
  const isPending =
    (scansDueMs !== undefined && scansCheckedAtMs === undefined) ||
    (targetDueMs !== undefined && targetCheckedAtMs === undefined);
  return isPending ? 'pending' : 'ok';
}

/** Its open incidents. */
export function openIncidentsOf({ silent, spiking, failing }: WatchFindings): string[] {
  const ids = [...failing, silent, spiking].map((one) => one?.incidentId);
  return ids.flatMap((id) => id ?? []);
}

/** What a request to a target came to. */
export interface TargetAnswer {
  readonly status?: number;
  /** Absent where there was an answer. */
  readonly failure?: FailureClass;
}

export interface TargetChecker {
  /** One request; never rejects. */
  check(request: { readonly method: 'HEAD' | 'GET'; readonly url: string }): Promise<TargetAnswer>;
  close(): Promise<void>;
}
