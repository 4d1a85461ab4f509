/**
 * People create, change and delete watches here; the scheduler (watch-scheduler.ts) runs them.
 *
 *   check -> one transaction: record, list, findings, timers, incidents that end, stored answer -> commit
 *
 * A change raises the record's revision, which invalidates readings by the old rules; the watch is due at once. If a rule
 * is removed or gets another number, its incident ends as `changed`, without an event; the new rule may open another one.
 * If the code or campaign is deleted, the next check removes the watch, within the hour.
 */
import type { Clock } from '../../model/clock.ts';
import { Failure, type Fault, notFound } from '../../model/failure.ts';
import { type IdSource, parseId } from '../../model/ids.ts';
import { type WorkspaceNo, workspaceRange } from '../../model/numbers.ts';
import {
  type IncidentEnd,
  openIncidentsOf,
  type WatchFindings,
  type WatchRecord,
  type WatchRules,
  watchesMax,
  watchesScans,
  type WatchSubject,
} from '../../model/watches/watch.ts';
import type { Actor } from '../../model/workspace.ts';
import type { Management } from '../../store/management/management.ts';
import type { Incidents } from './incidents.ts';
import type { Subjects } from './subjects.ts';

export interface WatchDraft {
  readonly subject: WatchSubject;
  readonly silentHours?: number | undefined;
  readonly spikeFactor?: number | undefined;
  readonly target: boolean;
  /** Members, by their user ids. */
  readonly mailTo?: readonly string[] | undefined;
  /** Whether the person who asks is one of them; undefined = as `mailTo` says. */
  readonly mail?: boolean | undefined;
}

/** A merge patch: absent = keep, null = look for it no more. */
export interface WatchChange {
  readonly silentHours?: number | null | undefined;
  readonly spikeFactor?: number | null | undefined;
  readonly target?: boolean | undefined;
  readonly mailTo?: readonly string[] | undefined;
  readonly mail?: boolean | undefined;
}

export interface WatchesOptions {
  readonly store: Management;
  readonly ids: IdSource;
  readonly clock: Clock;
  readonly subjects: Subjects;
  readonly incidents: Incidents;
}

/** Runs inside the transaction, after its writes; must not throw. */
export type InWatchTransaction = (watch: WatchRecord) => void;

export class Watches {
  readonly #options: WatchesOptions;

  constructor(options: WatchesOptions) {
    this.#options = options;
  }

  /** @throws Failure validation_failed with every fault, conflict when there are too many, storage_full */
  async create(
    actor: Actor,
    draft: WatchDraft,
    inTransaction?: InWatchTransaction,
  ): Promise<WatchRecord> {
    const { store, ids, clock } = this.#options;
    const { workspaceNo, userId } = actor;
    return await store.environment.transaction(() => {
      const { mailTo = [], mail } = draft;
      const rules = rulesOf(draft, withPerson(mailTo, userId, mail));
      this.#check(workspaceNo, draft.subject, rules);
      const { watches, workspaceWatches } = store.watches;
      if (workspaceWatches.count(workspaceRange(workspaceNo)) >= watchesMax) {
        throw new Failure('conflict', `A workspace has at most ${watchesMax} watches`);
      }
      const nowMs = clock.now();
      const watch: WatchRecord = {
        id: ids.newId('wch'),
        workspaceNo,
        subject: draft.subject,
        ...rules,
        createdBy: userId,
        createdAtMs: nowMs,
        updatedAtMs: nowMs,
        revision: 1,
      };
      watches.put(watch.id, watch);
      workspaceWatches.put([workspaceNo, watch.id], [subjectIdOf(draft.subject)]);
      store.watches.findings.put(watch.id, { gaps: [], failing: [] });
      this.#setDueNow(watch);
      inTransaction?.(watch);
      return watch;
    });
  }

  /** The watch of this id; undefined also when it is another workspace's. */
  find(workspaceNo: WorkspaceNo, id: string): WatchRecord | undefined {
    if (parseId('wch', id) === undefined) return undefined;
    const watch = this.#options.store.watches.watches.get(id);
    return watch?.workspaceNo === workspaceNo ? watch : undefined;
  }

  /** @throws Failure not_found */
  get(workspaceNo: WorkspaceNo, id: string): WatchRecord {
    const watch = this.find(workspaceNo, id);
    if (watch === undefined) throw notFound('watch');
    return watch;
  }

  findingsOf(id: string): WatchFindings {
    return this.#options.store.watches.findings.get(id) ?? { gaps: [], failing: [] };
  }

  /** Ids of a workspace's watches, newest first. @param subjectId of a code or campaign; undefined = all */
  idsOf(workspaceNo: WorkspaceNo, subjectId?: string): string[] {
    const { workspaceWatches } = this.#options.store.watches;
    const ids: string[] = [];
    for (const { key, value } of workspaceWatches.range(
      workspaceRange(workspaceNo),
      () => undefined,
    )) {
      if (subjectId === undefined || value[0] === subjectId) ids.push(key[1]);
    }
    return ids.toReversed();
  }

  /** @throws Failure not_found, validation_failed with every fault, storage_full */
  async change(actor: Actor, id: string, change: WatchChange): Promise<WatchRecord> {
    const { store, clock } = this.#options;
    return await store.environment.transaction(() => {
      const current = this.get(actor.workspaceNo, id);
      const rules = this.#rulesAfter(current, change, actor);
      this.#check(actor.workspaceNo, current.subject, rules);
      if (isSame(current, rules)) return current;
      const nowMs = clock.now();
      const { silentHours: _hours, spikeFactor: _factor, ...rest } = current;
      const updatedAtMs = Math.max(nowMs, current.updatedAtMs);
      const next = { ...rest, ...rules, updatedAtMs, revision: current.revision + 1 };
      store.watches.watches.put(id, next);
      store.watches.findings.put(id, this.#without(this.findingsOf(id), current, next));
      this.#setDueNow(next);
      return next;
    });
  }

  /** @throws Failure not_found, storage_full */
  async delete({ workspaceNo }: Pick<Actor, 'workspaceNo'>, id: string): Promise<WatchRecord> {
    return await this.#options.store.environment.transaction(() => {
      const watch = this.get(workspaceNo, id);
      this.remove(watch);
      return watch;
    });
  }

  /** Inside a transaction. */
  remove(watch: WatchRecord): void {
    const { store, incidents } = this.#options;
    const { findings, scansDue, targetDue, watches, workspaceWatches } = store.watches;
    for (const id of openIncidentsOf(this.findingsOf(watch.id))) {
      incidents.end(watch, id, 'deleted');
    }
    findings.remove(watch.id);
    scansDue.set([watch.id], undefined);
    targetDue.set([watch.id], undefined);
    watches.remove(watch.id);
    workspaceWatches.remove([watch.workspaceNo, watch.id]);
  }

  #setDueNow(watch: WatchRecord): void {
    const { store, clock } = this.#options;
    const nowMs = clock.now();
    store.watches.scansDue.set([watch.id], watchesScans(watch) ? nowMs : undefined);
    store.watches.targetDue.set([watch.id], watch.target ? nowMs : undefined);
  }

  #rulesAfter(current: WatchRecord, change: WatchChange, { userId }: Actor): WatchRules {
    const { memberships } = this.#options.store;
    const { silentHours, spikeFactor, target = current.target, mail } = change;
    // Who has left the workspace meanwhile goes.
    const isMember = (id: string): boolean => memberships.has([current.workspaceNo, id]);
    const { mailTo = current.mailTo.filter(isMember) } = change;
    const draft = {
      silentHours: silentHours === undefined ? current.silentHours : (silentHours ?? undefined),
      spikeFactor: spikeFactor === undefined ? current.spikeFactor : (spikeFactor ?? undefined),
      target,
    };
    return rulesOf(draft, withPerson(mailTo, userId, mail));
  }

  /** The findings without the incidents of changed rules. */
  #without(findings: WatchFindings, before: WatchRecord, after: WatchRecord): WatchFindings {
    const { incidents } = this.#options;
    const { silent, spiking, failing, ...rest } = findings;
    const end = (id: string, endedBy: IncidentEnd): void => incidents.end(after, id, endedBy);
    const keepsSilent = before.silentHours === after.silentHours;
    const keepsSpiking = before.spikeFactor === after.spikeFactor;
    if (silent !== undefined && !keepsSilent) end(silent.incidentId, 'changed');
    if (spiking !== undefined && !keepsSpiking) end(spiking.incidentId, 'changed');
    if (!after.target) {
      for (const { incidentId } of failing) if (incidentId) end(incidentId, 'changed');
    }
    return {
      ...rest,
      ...(silent !== undefined && keepsSilent ? { silent } : {}),
      ...(spiking !== undefined && keepsSpiking ? { spiking } : {}),
      failing: after.target ? failing : [],
    };
  }

  /** @throws Failure validation_failed with every fault */
  #check(workspaceNo: WorkspaceNo, subject: WatchSubject, rules: WatchRules): void {
    const { store, subjects } = this.#options;
    const faults: Fault[] = [];
    const add = (path: string, code: string, message: string): void =>
      void faults.push({ path, code, message });
    const { silentHours, spikeFactor, target, mailTo } = rules;
    if (!watchesScans(rules) && !target) {
      add('', 'nothing_to_watch', 'Expected silentHours, spikeFactor or target: true');
    }
    const able = subjects.abilitiesOf(workspaceNo, subject);
    const path = subject.kind === 'code' ? 'qrCodeId' : 'campaignId';
    if (able === undefined) {
      const message = `There is no ${subject.kind === 'code' ? 'QR code' : subject.kind} with this id`;
      add(path, subject.kind === 'code' ? 'unknown_code' : 'unknown_campaign', message);
    } else {
      const statics = 'A static code has no scans that could be counted';
      if (!able.isScanned && silentHours !== undefined) add('silentHours', 'static_code', statics);
      if (!able.isScanned && spikeFactor !== undefined) add('spikeFactor', 'static_code', statics);
      if (!able.leads && target) add('target', 'no_address', 'The code leads to no address');
    }
    for (const [at, userId] of mailTo.entries()) {
      if (store.memberships.has([workspaceNo, userId])) continue;
      add(`mailTo.${at}`, 'unknown_member', 'There is no member with this id');
    }
    if (faults.length === 0) return;
    throw new Failure('validation_failed', 'The watch has invalid fields', { faults });
  }
}

const subjectIdOf = (subject: WatchSubject): string =>
  subject.kind === 'workspace' ? '' : subject.id;

/** @param isWanted whether the person is one of them; undefined = as before */
function withPerson(
  mailTo: readonly string[],
  userId: string,
  isWanted: boolean | undefined,
): readonly string[] {
  if (isWanted === undefined) return mailTo;
  const others = mailTo.filter((id) => id !== userId);
  return isWanted ? [...others, userId] : others;
}

function rulesOf(
  { silentHours, spikeFactor, target }: Omit<WatchDraft, 'subject' | 'mail' | 'mailTo'>,
  mailTo: readonly string[],
): WatchRules {
  return {
    ...(silentHours === undefined ? {} : { silentHours }),
    ...(spikeFactor === undefined ? {} : { spikeFactor }),
    target,
    mailTo: [...new Set(mailTo)],
  };
}

const isSame = (one: WatchRules, other: WatchRules): boolean =>
  one.silentHours === other.silentHours &&
  one.spikeFactor === other.spikeFactor &&
  one.target === other.target &&
  one.mailTo.join(' ') === other.mailTo.join(' ');
