/**
 * Sends mails about incidents. The transaction of the incident (incidents.ts) queues them; this hands them to the mailer.
 *
 *   [atMs, workspace, incident, begun | ended, user]  --  removed in a transaction  ->  mailer
 *
 * So each goes out once. Former members, users without a proven mailbox and damaged user records get none. A mail that
 * waits for a day is dropped.
 */
import type { Clock } from '../model/clock.ts';
import { dayMs } from '../model/day.ts';
import { readOr } from '../model/failure.ts';
import type { IncidentRecord } from '../model/watches/watch.ts';
import type { AlertEmailKey } from '../store/management/product-tables.ts';
import type { Management } from '../store/management/management.ts';

const emailsPerTick = 50;
const emailMsMax = dayMs;

export interface Alert {
  readonly to: string;
  readonly workspaceName: string;
  readonly incident: IncidentRecord;
  readonly what: 'begun' | 'ended';
  /** In the dashboard. */
  readonly url: string;
}

export interface AlertMailerOptions {
  readonly store: Management;
  readonly clock: Clock;
  /** Of the dashboard. */
  readonly publicUrl: string;
  /** @returns false when too many wait; absent = no mail is sent */
  readonly send: ((alert: Alert) => boolean) | undefined;
}

export class AlertMailer {
  readonly #options: AlertMailerOptions;

  constructor(options: AlertMailerOptions) {
    this.#options = options;
  }

  /** @throws Failure storage_full, not_active */
  async tick(): Promise<void> {
    const { store, clock, send } = this.#options;
    const { alertEmails } = store.watches;
    const taken = [...alertEmails.keys({ limit: emailsPerTick })];
    if (taken.length === 0) return;
    const oldestMs = clock.now() - emailMsMax;
    const taking = await store.environment.transaction(() =>
      taken.filter((key) => {
        const isThere = alertEmails.has(key);
        alertEmails.remove(key);
        return isThere;
      }),
    );
    const refused: AlertEmailKey[] = [];
    for (const key of taking) {
      const alert = key[0] < oldestMs ? undefined : readOr(() => this.#alertOf(key), undefined);
      if (alert !== undefined && send?.(alert) === false) refused.push(key);
    }
    if (refused.length === 0) return;
    await store.environment.transaction(() => {
      for (const key of refused) alertEmails.put(key, 1);
    });
  }

  #alertOf([, workspaceNo, incidentId, what, userId]: AlertEmailKey): Alert | undefined {
    const { store } = this.#options;
    const incident = store.watches.incidents.get([workspaceNo, incidentId], () => undefined);
    const user = store.users.get(userId);
    const workspaceName = store.workspaces.get(workspaceNo)?.name;
    const isMember = store.memberships.has([workspaceNo, userId]);
    if (incident === undefined || user === undefined || workspaceName === undefined || !isMember) {
      return undefined;
    }
    if (user.mailboxProven === false) return undefined;
    const url = this.#urlOf(incident);
    return { to: user.email, workspaceName, incident, what, url };
  }

  #urlOf({ subject }: IncidentRecord): string {
    const { publicUrl } = this.#options;
    if (subject.kind === 'workspace') return `${publicUrl}/settings/alerts`;
    return `${publicUrl}/${subject.kind === 'code' ? 'codes' : 'campaigns'}/${subject.id}`;
  }
}
