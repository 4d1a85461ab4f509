/** Alerts (the API's watches) and incidents: types and labels. */
import { formatNumber, plural, shortAddress } from '../../client/format.ts';
import type { BadgeTone } from '../../parts/list.tsx';
import { pathTo } from '../../paths.ts';

export type WatchState = 'ok' | 'pending' | 'silent' | 'spiking' | 'target_failing';

interface Subject {
  readonly qrCodeId: string | null;
  readonly campaignId: string | null;
}

export interface Incident extends Subject {
  readonly id: string;
  readonly watchId: string;
  readonly name: string;
  readonly kind: Exclude<WatchState, 'ok' | 'pending'>;
  readonly since: string;
  readonly openedAt: string;
  readonly endedAt: string | null;
  readonly endedBy: 'recovered' | 'not_expected' | 'changed' | 'deleted' | null;
  readonly expectedScans: number | null;
  readonly scans: number | null;
  readonly hours: number | null;
  readonly target: string | null;
  readonly fault: string | null;
  readonly status: number | null;
}

export interface Watch extends Subject {
  readonly id: string;
  readonly name: string | null;
  readonly silentHours: number | null;
  readonly spikeFactor: number | null;
  readonly target: boolean;
  readonly mailTo: readonly string[];
  readonly state: WatchState;
  readonly idle: 'learning' | 'inactive' | null;
  readonly checkedAt: string | null;
  readonly targetCheckedAt: string | null;
  readonly lastFault: {
    readonly target: string;
    readonly fault: string;
    readonly status: number | null;
    readonly at: string;
  } | null;
  readonly incidents: readonly Incident[];
}

export interface IncidentList {
  readonly data: readonly Incident[];
  readonly nextCursor?: string;
}

export const stateLabels: Readonly<Record<WatchState, string>> = {
  ok: 'All well',
  pending: 'Not checked yet',
  silent: 'No scans',
  spiking: 'Unusually many scans',
  target_failing: 'Destination fails',
};
export const stateTones: Readonly<Record<WatchState, BadgeTone>> = {
  ok: 'good',
  pending: 'plain',
  silent: 'bad',
  spiking: 'warn',
  target_failing: 'bad',
};

export const endLabels: Readonly<Record<NonNullable<Incident['endedBy']>, string>> = {
  recovered: 'Over',
  not_expected: 'Over: paused or ended',
  changed: 'Over: changed',
  deleted: 'Over: deleted',
};

const faultLabels: Readonly<Record<string, string>> = {
  timeout: 'no answer within 10 seconds',
  dns: 'host name not found',
  connect: 'cannot connect',
  tls: 'certificate not accepted',
  reset: 'connection closed without an answer',
  protocol: 'no valid HTTP answer',
  blocked_ip: 'not checked: not found, or an address in a private network',
  rate_limited: 'not checked: it limits the number of requests',
  offline: 'not checked: this service may be offline',
};

export const faultText = (fault: string | null, status: number | null): string =>
  status === null ? (faultLabels[fault ?? ''] ?? 'not checked') : `status ${status}`;

/** The rules of an alert, in a line. */
export function rulesText({ silentHours, spikeFactor, target }: Watch): string {
  const parts = [
    silentHours === null ? '' : `no scans for ${plural(silentHours, 'hour')}`,
    spikeFactor === null ? '' : `${formatNumber(spikeFactor)} × the usual scans in an hour`,
    target ? 'destination fails' : '',
  ];
  return parts.filter((part) => part !== '').join(', ');
}

/** An incident, in a line. */
export function incidentText(incident: Incident): string {
  const { kind, expectedScans, scans, hours, target, fault, status } = incident;
  const usual = formatNumber(expectedScans ?? 0);
  if (kind === 'silent') return `No scans for ${plural(hours ?? 0, 'hour')}, usually ${usual}`;
  if (kind === 'spiking') return `${formatNumber(scans ?? 0)} scans in an hour, usually ${usual}`;
  return `${shortAddress(target ?? '')}: ${faultText(fault, status)}`;
}

export function subjectAddress({ qrCodeId, campaignId }: Subject): string {
  if (qrCodeId !== null) return pathTo('code', { id: qrCodeId });
  return campaignId === null ? pathTo('overview') : pathTo('campaign', { id: campaignId });
}
