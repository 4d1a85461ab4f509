/**
 * Incidents begin and end here, inside the transaction that writes the findings of their watch. So the incident, its event
 * and its mails exist once or not at all, however many machines evaluate the watch.
 *
 * The list is bounded: a new incident replaces the oldest one that has ended. Open ones stay; a watch has 22 at most.
 */
import type { Clock } from '../model/clock.ts';
import { isoTime } from '../model/day.ts';
import type { EventData } from '../model/event.ts';
import type { IdSource } from '../model/ids.ts';
import type { WorkspaceNo } from '../model/numbers.ts';
import {
  type IncidentEnd,
  incidentEvents,
  type IncidentRecord,
  incidentsKept,
  type WatchRecord,
} from '../model/watches/watch.ts';
import type { Outbox } from '../outbox/outbox.ts';
import type { Management } from '../store/management/management.ts';

export interface IncidentsOptions {
  readonly store: Management;
  readonly outbox: Outbox;
  readonly ids: IdSource;
  readonly clock: Clock;
  /** Mail can be sent. */
  readonly hasMail: boolean;
}

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
  begin(watch: WatchRecord, beginning: Beginning): string {
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
    this.#report(watch, incident, 'begun', openedAtMs);
    return id;
  }

  /**
   * Inside a transaction; nothing where it has ended already.
   * @param watch whose members get mail about a recovery @param status the target's answer
   */
  end(watch: WatchRecord, id: string, endedBy: IncidentEnd, status?: number): void {
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
    this.#report(watch, answered, 'ended', endedAtMs);
  }

  /** Of any workspace that it is asked for; undefined also for one that was removed. */
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
    if (incidents.count(everyOf(workspaceNo)) < incidentsKept) return;
    const keys = [...incidents.keys(everyOf(workspaceNo))];
    const oldest = keys.find((key) => !open.has(key));
    if (oldest !== undefined) incidents.remove(oldest);
  }

  /** Emits the event; queues a mail to each subscriber. */
  #report(
    { mailTo }: WatchRecord,
    incident: IncidentRecord,
    what: 'begun' | 'ended',
    atMs: number,
  ): void {
    const { store, outbox, hasMail } = this.#options;
    const kind = incidentEvents[incident.kind][what];
    if (kind === undefined) return;
    outbox.append(kind, incident.workspaceNo, eventDataOf(incident, what), atMs);
    if (!hasMail) return;
    for (const userId of mailTo) {
      store.watches.alertEmails.put([atMs, incident.workspaceNo, incident.id, what, userId], 1);
    }
  }
}

/** A new object for each call: lmdb-js writes into it. */
function everyOf(workspaceNo: WorkspaceNo) {
  const start: [number, string] = [workspaceNo, ''];
  const end: [number, string] = [workspaceNo + 1, ''];
  return { start, end };
}

/** Behind every id. */
const lastId = 'inc_zzzzzzzzzzzzzzzzzzzzz';

/** What webhooks are sent of an incident. */
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
