/**
 * Incidents begin and end here, inside the transaction that writes the findings of their watch. So the incident and its
 * event exist once or not at all, however many machines evaluate the watch. Its mails go to the mailer after the commit:
 * once, and they are lost if the process ends before the mail server has them. Former members, users without a proven
 * mailbox and damaged user records get none.
 *
 * The list is bounded: a new incident replaces the oldest one that has ended. Open ones stay; a watch has 22 at most.
 */
import type { Clock } from '../../model/clock.ts';
import { isoTime } from '../../model/day.ts';
import type { EventData } from '../../model/event.ts';
import { readOr } from '../../model/failure.ts';
import type { IdSource } from '../../model/ids.ts';
import { type WorkspaceNo, workspaceRange } from '../../model/numbers.ts';
import {
  type Alert,
  type IncidentEnd,
  incidentEvents,
  type IncidentRecord,
  incidentsKept,
  type WatchRecord,
} from '../../model/watches/watch.ts';
import type { Outbox } from '../../webhooks/outbox.ts';
import type { Management } from '../../store/management/management.ts';

export interface IncidentsOptions {
  readonly store: Management;
  readonly outbox: Outbox;
  readonly ids: IdSource;
  readonly clock: Clock;
  /** Undefined = no mail is sent. */
  readonly emails: { alert(alert: Alert): boolean } | undefined;
  /** Of the dashboard. */
  readonly publicUrl: string;
}

/** The reports of a transaction: their mails are sent after its commit. */
export type Reported = Array<{
  readonly watch: WatchRecord;
  readonly incident: IncidentRecord;
  readonly what: 'begun' | 'ended';
}>;

export type Beginning = Pick<
  IncidentRecord,
  'kind' | 'name' | 'sinceMs' | 'expected' | 'seen' | 'hours' | 'url' | 'fault' | 'status'
>;

export class Incidents {
  readonly #options: IncidentsOptions;

  constructor(options: IncidentsOptions) {
    this.#options = options;
  }

  /** Inside the transaction of its watch. @returns its id */
  begin(watch: WatchRecord, beginning: Beginning, reported: Reported = []): string {
    const { store, ids, clock } = this.#options;
    const { id: watchId, workspaceNo, subject } = watch;
    this.#prune(workspaceNo);
    const openedAtMs = clock.now();
    const id = ids.newId('inc');
    const incident: IncidentRecord = {
      id,
      watchId,
      workspaceNo,
      subject,
      openedAtMs,
      ...beginning,
    };
    store.watches.incidents.put([workspaceNo, id], incident);
    store.watches.open.put([workspaceNo, id], 1);
    this.#report(reported, { watch, incident, what: 'begun' }, openedAtMs);
    return id;
  }

  /**
   * Inside a transaction. An incident that has ended stays as it is.
   * @param status the target's answer @param reported gets a recovery
   */
  end(
    watch: WatchRecord,
    id: string,
    endedBy: IncidentEnd,
    status?: number,
    reported: Reported = [],
  ): void {
    const { store, clock } = this.#options;
    const key: [number, string] = [watch.workspaceNo, id];
    store.watches.open.remove(key);
    const incident = store.watches.incidents.get(key, () => undefined);
    if (incident === undefined || incident.endedAtMs !== undefined) return;
    const endedAtMs = clock.now();
    store.watches.incidents.put(key, { ...incident, endedAtMs, endedBy });
    if (endedBy !== 'recovered') return;
    const { status: _failed, ...rest } = incident;
    const answered = status === undefined ? rest : { ...rest, status };
    this.#report(reported, { watch, incident: answered, what: 'ended' }, endedAtMs);
  }

  find(workspaceNo: WorkspaceNo, id: string): IncidentRecord | undefined {
    return this.#options.store.watches.incidents.get([workspaceNo, id], () => undefined);
  }

  /** Newest first. @param before an id of the list */
  page(
    workspaceNo: WorkspaceNo,
    { before, limit, isOpen }: { before?: string | undefined; limit: number; isOpen: boolean },
    isWanted: (incident: IncidentRecord) => boolean,
  ): { readonly data: IncidentRecord[]; readonly hasMore: boolean } {
    const { open, incidents } = this.#options.store.watches;
    const range = {
      start: [workspaceNo, before ?? lastId] satisfies [number, string],
      end: [workspaceNo, ''] satisfies [number, string],
      reverse: true,
    };
    const data: IncidentRecord[] = [];
    for (const key of (isOpen ? open : incidents).keys(range)) {
      if (key[1] === before) continue;
      const incident = incidents.get(key, () => undefined);
      if (incident === undefined || !isWanted(incident)) continue;
      if (data.length === limit) return { data, hasMore: true };
      data.push(incident);
    }
    return { data, hasMore: false };
  }

  #prune(workspaceNo: WorkspaceNo): void {
    const { incidents, open } = this.#options.store.watches;
    if (incidents.count(workspaceRange(workspaceNo)) < incidentsKept) return;
    const keys = [...incidents.keys(workspaceRange(workspaceNo))];
    const oldest = keys.find((key) => !open.has(key));
    if (oldest !== undefined) incidents.remove(oldest);
  }

  #report(reported: Reported, one: Reported[number], atMs: number): void {
    const { incident, what } = one;
    const kind = incidentEvents[incident.kind][what];
    if (kind === undefined) return;
    this.#options.outbox.append(kind, incident.workspaceNo, eventDataOf(incident, what), atMs);
    reported.push(one);
  }

  /** Sends the mails of a transaction that is committed. */
  mail(reported: Reported): void {
    const { store, emails, publicUrl } = this.#options;
    if (emails === undefined) return;
    for (const { watch, incident, what } of reported) {
      const { workspaceNo, subject } = incident;
      const workspaceName = readOr(() => store.workspaces.get(workspaceNo)?.name, undefined);
      if (workspaceName === undefined) continue;
      const page =
        subject.kind === 'workspace'
          ? 'settings/alerts'
          : `${subject.kind === 'code' ? 'codes' : 'campaigns'}/${subject.id}`;
      for (const userId of watch.mailTo) {
        const user = readOr(() => store.users.get(userId), undefined);
        const isMember = store.memberships.has([workspaceNo, userId]);
        if (user === undefined || user.mailboxProven === false || !isMember) continue;
        emails.alert({
          to: user.email,
          workspaceName,
          incident,
          what,
          url: `${publicUrl}/${page}`,
        });
      }
    }
  }
}

/** Sorts after every id. */
const lastId = 'inc_zzzzzzzzzzzzzzzzzzzzz';

/** The data of an incident's event. */
function eventDataOf(incident: IncidentRecord, what: 'begun' | 'ended'): EventData {
  const { id, watchId, subject, name, sinceMs, kind, hours, expected, seen } = incident;
  const of = {
    watchId,
    incidentId: id,
    qrCodeId: subject.kind === 'code' ? subject.id : null,
    campaignId: subject.kind === 'campaign' ? subject.id : null,
    name,
    since: isoTime(sinceMs),
  };
  if (kind === 'silent') return { ...of, hours, expectedScans: expected, scans: seen };
  if (kind === 'spiking') return { ...of, expectedScans: expected, scans: seen };
  const { url, status = null, fault } = incident;
  const answered = { ...of, target: url, status };
  return what === 'begun' ? { ...answered, fault } : answered;
}
