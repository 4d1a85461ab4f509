/**
 * Endpoints: where a workspace wants its events sent. Records live in the management environment; all of
 * them are in memory too, for the dispatcher, which asks on every event (endpoint-index.ts).
 *
 *   enabled --by hand | the receiver answers 410 | only failures for days--> disabled
 *   disabled --by hand--> enabled, from the events of that moment on
 *
 * Memory follows the commit: a change is made from the stored record inside its transaction, and what was
 * stored is put into memory before the caller hears of it. So an event that is caused after the API has
 * answered finds the endpoint as the answer says it is. Only this process changes endpoints.
 */
import type { Clock } from '../../model/clock.ts';
import { Failure, type Fault } from '../../model/failure.ts';
import type { IdSource, RandomBytes } from '../../model/ids.ts';
import type { EventKind } from '../../model/event.ts';
import type { DisabledReason, EndpointRecord } from '../../model/webhook.ts';
import type { Actor } from '../../model/workspace.ts';
import type { Management } from '../../store/management/management.ts';
import { EndpointIndex } from './endpoint-index.ts';
import { rotated, Secrets, type Cipher, validOf } from './secrets.ts';

/** Endpoints of a workspace, disabled ones too: each event is one delivery to each of them. */
export const endpointsMax = 50;

export interface NewEndpoint {
  readonly url: string;
  readonly events: EndpointRecord['events'];
  readonly description?: string | undefined;
  readonly maxBatch: number;
}

/** Absent = as it is; `description: null` removes it. */
export interface EndpointChange {
  readonly url?: string | undefined;
  readonly events?: EndpointRecord['events'] | undefined;
  readonly description?: string | null | undefined;
  readonly maxBatch?: number | undefined;
  readonly enabled?: boolean | undefined;
}

export interface MadeEndpoint {
  readonly endpoint: EndpointRecord;
  /** To be shown once. */
  readonly secret: string;
}

/** Runs in the transaction of the effect. */
type Keep<T> = (done: T) => void;

/** `undefined`: it was removed. */
type Listener = (no: number, record: EndpointRecord | undefined) => void;

export interface EndpointsOptions {
  readonly store: Management;
  readonly ids: IdSource;
  readonly clock: Clock;
  readonly randomBytes: RandomBytes;
  readonly seal: Cipher;
  /** What is wrong with an address (egress guard): nothing, or a fault of `url`. */
  readonly urlFault: (url: string) => Fault | undefined;
  /** Sequence of the newest block of scans. */
  readonly lastBlock: () => number;
}

export class Endpoints {
  readonly #options: EndpointsOptions;
  readonly #secrets: Secrets;
  readonly #index = new EndpointIndex();
  readonly #listeners = new Set<Listener>();

  constructor(options: EndpointsOptions) {
    this.#options = options;
    this.#secrets = new Secrets(options.seal, options.randomBytes);
    for (const { value } of options.store.webhooks.endpoints.range({})) {
      this.#index.put(this.#usable(value));
    }
  }

  /** What is wrong with an address, if anything. A name is looked up at every attempt, not here. */
  urlFault(url: string): Fault | undefined {
    return this.#options.urlFault(url);
  }

  /** @throws Failure validation_failed for a refused address, conflict when there are too many */
  async create(
    { workspaceNo, userId }: Pick<Actor, 'workspaceNo' | 'userId'>,
    { url, events, description, maxBatch }: NewEndpoint,
    keep: Keep<MadeEndpoint> = () => undefined,
  ): Promise<MadeEndpoint> {
    const { store, ids, clock } = this.#options;
    this.#assertUrl(url);
    const { secret, sealed } = this.#secrets.create();
    const made = await store.environment.transaction(() => {
      this.#assertRoom(workspaceNo);
      const createdAtMs = clock.now();
      const endpoint: EndpointRecord = {
        no: store.next('endpoint'),
        id: ids.newId('whk'),
        workspaceNo,
        url,
        events,
        ...(description === undefined ? {} : { description }),
        maxBatch,
        secrets: [{ sealed }],
        status: 'enabled',
        ...this.#start(),
        createdAtMs,
        updatedAtMs: createdAtMs,
        createdBy: userId,
      };
      store.webhooks.endpoints.put(endpoint.no, endpoint);
      store.webhooks.workspaceEndpoints.put([workspaceNo, endpoint.no], 1);
      keep({ endpoint, secret });
      return { endpoint, secret };
    });
    this.#adopt(made.endpoint.no);
    return made;
  }

  /** Newest first. */
  list(workspaceNo: number): EndpointRecord[] {
    return this.#index.ofWorkspace(workspaceNo);
  }

  /** @throws Failure not_found, also for another workspace's */
  get(workspaceNo: number, id: string): EndpointRecord {
    const record = this.#index.byId(id);
    if (record?.workspaceNo === workspaceNo) return record;
    throw new Failure('not_found', 'There is no webhook endpoint with this id');
  }

  /** @throws Failure not_found, validation_failed for a refused address */
  async change(workspaceNo: number, id: string, change: EndpointChange): Promise<EndpointRecord> {
    const { no } = this.get(workspaceNo, id);
    if (change.url !== undefined) this.#assertUrl(change.url);
    return await this.#rewrite(no, (record) => this.#changed(record, change));
  }

  /** What waits for it is for `onChange` to cancel. @throws Failure not_found, also the second time */
  async remove(workspaceNo: number, id: string): Promise<EndpointRecord> {
    const { store } = this.#options;
    const { endpoints, workspaceEndpoints } = store.webhooks;
    const { no } = this.get(workspaceNo, id);
    const removed = await store.environment.transaction(() => {
      const record = endpoints.get(no);
      if (record === undefined) throw gone();
      endpoints.remove(no);
      workspaceEndpoints.remove([workspaceNo, no]);
      return record;
    });
    this.#adopt(no);
    return removed;
  }

  /** @throws Failure not_found, conflict when too many secrets would be valid */
  async rotateSecret(
    workspaceNo: number,
    id: string,
    overlapMs: number,
    keep: Keep<MadeEndpoint> = () => undefined,
  ): Promise<MadeEndpoint> {
    const { no } = this.get(workspaceNo, id);
    const { secret, sealed } = this.#secrets.create();
    const endpoint = await this.#rewrite(
      no,
      (record, nowMs) => {
        const secrets = rotated(record.secrets, sealed, overlapMs, nowMs);
        return { ...record, secrets, updatedAtMs: nowMs };
      },
      (stored) => keep({ endpoint: stored, secret }),
    );
    return { endpoint, secret };
  }

  /** For the dispatcher: nothing more is sent to it. A removed endpoint stays removed. */
  async disable(no: number, reason: DisabledReason): Promise<void> {
    if (this.#index.byNo(no)?.status !== 'enabled') return;
    try {
      await this.#rewrite(no, (record, nowMs) => disabled(record, reason, nowMs));
    } catch (error) {
      if (!(error instanceof Failure) || error.code !== 'not_found') throw error;
    }
  }

  byNo(no: number): EndpointRecord | undefined {
    return this.#index.byNo(no);
  }

  /** Enabled endpoints of the workspace that subscribe to the kind. */
  forEvent(workspaceNo: number, kind: EventKind): readonly EndpointRecord[] {
    return this.#index.forEvent(workspaceNo, kind);
  }

  /** Whether anybody in the service listens to the kind. */
  isAnyFor(kind: EventKind): boolean {
    return this.#index.isAnyFor(kind);
  }

  /** What signs a delivery now, newest first; none for an endpoint that was removed. */
  secretsOf(no: number): readonly string[] {
    const record = this.#index.byNo(no);
    return record === undefined
      ? []
      : this.#secrets.open(record.secrets, this.#options.clock.now());
  }

  /** When the last of the older secrets ends; undefined when only the newest is valid. */
  overlapEndMs({ secrets }: EndpointRecord): number | undefined {
    const ends = validOf(secrets, this.#options.clock.now()).flatMap(
      ({ expiresAtMs }) => expiresAtMs ?? [],
    );
    return ends.length === 0 ? undefined : Math.max(...ends);
  }

  /** Called after each change, with the record as stored, or undefined for a removed one. */
  onChange(listener: Listener): void {
    this.#listeners.add(listener);
  }

  /**
   * Replaces the record by what `make` says of it; the very same record means that nothing changes.
   * @throws Failure not_found when it was removed meanwhile
   */
  async #rewrite(
    no: number,
    make: (record: EndpointRecord, nowMs: number) => EndpointRecord,
    keep: Keep<EndpointRecord> = () => undefined,
  ): Promise<EndpointRecord> {
    const { store, clock } = this.#options;
    const { endpoints } = store.webhooks;
    const stored = await store.environment.transaction(() => {
      const record = endpoints.get(no);
      if (record === undefined) throw gone();
      const next = make(record, clock.now());
      if (next !== record) endpoints.put(no, next);
      keep(next);
      return next;
    });
    this.#adopt(no);
    return this.#index.byNo(no) ?? stored;
  }

  #changed(record: EndpointRecord, change: EndpointChange): EndpointRecord {
    const { url, events, description, maxBatch, enabled } = change;
    const { description: described, ...rest } = record;
    const nextDescription = description === undefined ? described : (description ?? undefined);
    const nowMs = this.#options.clock.now();
    const next: EndpointRecord = {
      ...rest,
      ...(nextDescription === undefined ? {} : { description: nextDescription }),
      url: url ?? record.url,
      events: events ?? record.events,
      maxBatch: maxBatch ?? record.maxBatch,
      updatedAtMs: nowMs,
    };
    if (enabled === false) return disabled(next, 'by_hand', nowMs);
    return enabled === true && next.status === 'disabled' ? this.#enabled(next) : next;
  }

  #enabled(record: EndpointRecord): EndpointRecord {
    const { disabledReason: _reason, disabledAtMs: _atMs, ...rest } = record;
    return { ...rest, status: 'enabled', ...this.#start() };
  }

  /** Events up to here are not sent. Inside a management transaction. */
  #start(): Pick<EndpointRecord, 'firstEvent' | 'firstBlock'> {
    return { firstEvent: this.#options.store.last('event'), firstBlock: this.#options.lastBlock() };
  }

  /** Memory becomes what is committed, whichever of two changes comes here first. */
  #adopt(no: number): void {
    const { environment, webhooks } = this.#options.store;
    environment.refresh();
    const record = webhooks.endpoints.get(no);
    if (record === undefined) this.#index.remove(no);
    else this.#index.put(this.#usable(record));
    for (const listener of this.#listeners) listener(no, this.#index.byNo(no));
  }

  /**
   * Nothing is sent unsigned: while no secret can be opened, because the signing keys of the data folder
   * were lost, an endpoint is off. A new secret brings it back.
   */
  #usable(record: EndpointRecord): EndpointRecord {
    const nowMs = this.#options.clock.now();
    if (this.#secrets.open(record.secrets, nowMs).length > 0) return record;
    return disabled(record, 'failing', nowMs);
  }

  /** @throws Failure validation_failed */
  #assertUrl(url: string): void {
    const fault = this.#options.urlFault(url);
    if (fault === undefined) return;
    throw new Failure('validation_failed', fault.message, { faults: [fault] });
  }

  /** Inside the transaction: counts what is stored. @throws Failure conflict */
  #assertRoom(workspaceNo: number): void {
    const start: [number, number] = [workspaceNo, 0];
    const end: [number, number] = [workspaceNo + 1, 0];
    const count = this.#options.store.webhooks.workspaceEndpoints.count({ start, end });
    if (count < endpointsMax) return;
    throw new Failure(
      'conflict',
      `Cannot create the endpoint: the workspace has ${count}, expected fewer than ${endpointsMax}`,
    );
  }
}

function disabled(record: EndpointRecord, reason: DisabledReason, nowMs: number): EndpointRecord {
  if (record.status === 'disabled') return record;
  return {
    ...record,
    status: 'disabled',
    disabledReason: reason,
    disabledAtMs: nowMs,
    updatedAtMs: nowMs,
  };
}

function gone(): Failure {
  return new Failure('not_found', 'There is no webhook endpoint with this id');
}
