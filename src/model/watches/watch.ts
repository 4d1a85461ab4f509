/**
 * A watch looks for problems of a code, a campaign or the workspace; an incident is such a problem.
 *
 *                    silence that chance does not explain
 *   silent           ok ------------------------------------> incident --- a scan ---> ended
 *   spiking          ok -- an hour with unusually many -----> incident --- a usual hour ---> ended
 *   target_failing   ok -- two failures, an hour apart -----> incident --- an answer ---> ended
 *
 * A watch has at most one open incident of `silent`, one of `spiking`, and one of `target_failing` per target.
 */
import type { EventKind } from '../event.ts';
import type { WorkspaceNo } from '../numbers.ts';
import type { FailureClass } from '../webhook.ts';

export const incidentKinds = ['silent', 'spiking', 'target_failing'] as const;
export type IncidentKind = (typeof incidentKinds)[number];

/** The state of a watch is its worst open incident, in this order; `pending` = not checked yet. */
export const watchStates = ['target_failing', 'silent', 'spiking', 'pending', 'ok'] as const;
export type WatchState = (typeof watchStates)[number];

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
export const mailToMax = 20;
/** Per workspace: all are evaluated every hour. */
export const watchesMax = 1_000;
/** Per workspace, plus open incidents; the oldest ended ones are removed. */
export const incidentsKept = 1_000;

export type WatchSubject =
  | { readonly kind: 'workspace' }
  | { readonly kind: 'code' | 'campaign'; readonly id: string };

export interface WatchRules {
  readonly silentHours?: number;
  readonly spikeFactor?: number;
  readonly target: boolean;
  readonly mailTo: readonly string[];
}

export interface WatchRecord extends WatchRules {
  readonly id: string;
  readonly workspaceNo: WorkspaceNo;
  readonly subject: WatchSubject;
  readonly createdBy: string;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
  /** Incremented by each change, which invalidates earlier findings. */
  readonly revision: number;
}

/** Why no scans are expected: there is too little data, or the code does not redirect. */
export type IdleReason = 'learning' | 'inactive';

export type Gap = readonly [fromMs: number, toMs: number];

export interface TargetFault {
  readonly atMs: number;
  readonly url: string;
  readonly fault: TargetFaultClass;
  readonly status?: number;
}

/** Of a webhook's attempt, and two more. `offline`: no host can be reached, so this machine may be the cause. */
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

export interface FailingTarget {
  readonly url: string;
  /** The first of its consecutive failures. */
  readonly sinceMs: number;
  /** After the second failure. */
  readonly incidentId?: string;
}

/** The state of a watch, stored in the transaction of its effects. */
export interface WatchFindings {
  readonly scansCheckedAtMs?: number;
  readonly targetCheckedAtMs?: number;
  readonly idle?: { readonly reason: IdleReason; readonly sinceMs: number };
  /** Inactive times, oldest first. */
  readonly gaps: readonly Gap[];
  readonly silent?: { readonly incidentId: string; readonly sinceMs: number };
  readonly spiking?: { readonly incidentId: string; readonly sinceMs: number };
  readonly failing: readonly FailingTarget[];
  readonly lastFault?: TargetFault;
}

/** `not_expected`: the code was paused or has ended; `changed`: the watch or the code's target changed. */
export const incidentEnds = ['recovered', 'not_expected', 'changed', 'deleted'] as const;
export type IncidentEnd = (typeof incidentEnds)[number];

export interface IncidentRecord {
  readonly id: string;
  readonly watchId: string;
  readonly workspaceNo: WorkspaceNo;
  readonly kind: IncidentKind;
  readonly subject: WatchSubject;
  /** Of the subject when the incident began. */
  readonly name: string;
  /** The last scan, the hour, or the first failure. */
  readonly sinceMs: number;
  readonly openedAtMs: number;
  readonly endedAtMs?: number;
  readonly endedBy?: IncidentEnd;
  readonly expected?: number;
  readonly seen?: number;
  readonly hours?: number;
  readonly url?: string;
  readonly fault?: TargetFaultClass;
  readonly status?: number;
}

/** Informs a member about an incident, by mail. */
export interface Alert {
  readonly to: string;
  readonly workspaceName: string;
  readonly incident: IncidentRecord;
  readonly what: 'begun' | 'ended';
  /** In the dashboard. */
  readonly url: string;
}

/** When the service was counting: hours of other times are ignored. */
export interface RunningRecord {
  readonly sinceMs: number;
  readonly lastMs: number;
  readonly gaps: readonly Gap[];
}

export function watchStateOf(rules: WatchRules, findings: WatchFindings): WatchState {
  const { silent, spiking, failing } = findings;
  if (failing.some(({ incidentId }) => incidentId !== undefined)) return 'target_failing';
  if (silent !== undefined) return 'silent';
  if (spiking !== undefined) return 'spiking';
  const isPending =
    (watchesScans(rules) && findings.scansCheckedAtMs === undefined) ||
    (rules.target && findings.targetCheckedAtMs === undefined);
  return isPending ? 'pending' : 'ok';
}

export const watchesScans = ({ silentHours, spikeFactor }: WatchRules): boolean =>
  silentHours !== undefined || spikeFactor !== undefined;

export function openIncidentsOf({ silent, spiking, failing }: WatchFindings): string[] {
  const ids = [...failing, silent, spiking].map((one) => one?.incidentId);
  return ids.flatMap((id) => id ?? []);
}

export interface TargetRequest {
  readonly method: 'HEAD' | 'GET';
  readonly url: string;
}

export interface TargetAnswer {
  readonly status?: number;
  /** Absent with a status. */
  readonly failure?: FailureClass;
}

export interface TargetChecker {
  /** One request; never rejects. */
  check(request: TargetRequest): Promise<TargetAnswer>;
  close(): Promise<void>;
}
