/**
 * Endpoints: where a workspace wants its events sent. Records are stored in the management environment; all of
 * them are in memory too, because every event looks up its listeners (endpoint-index.ts).
 *
 *   enabled --by hand | the receiver answers 410 | only failures for days--> disabled
 *   disabled --by hand--> enabled, from the events of that moment on
 *
 * Memory follows the commit: a change starts from the stored record inside its transaction, and memory is reloaded
 * before the caller continues. So an event that is caused after the API has answered finds the endpoint as the
 * answer shows it. Only this process changes endpoints.
 */
import type { Clock } from '../../model/clock.ts';
import { Failure, type Fault } from '../../model/failure.ts';
import type { IdSource, RandomBytes } from '../../model/ids.ts';
import { type EventKind, eventKinds } from '../../model/event.ts';
import type { DisabledReason, EndpointRecord, OutboxEnds } from '../../model/webhook.ts';
import type { Actor } from '../../model/workspace.ts';
import type { Management } from '../../store/management/management.ts';
import { EndpointIndex, subscribesTo } from './endpoint-index.ts';
import { type BlockNumbers, renumbered, stampOf } from './renumbered.ts';
import { rotated, Secrets, type Cipher, validOf } from './secrets.ts';
import type { EndpointNo, WorkspaceNo } from '../../model/numbers.ts';

/** Endpoints of a workspace, disabled ones too: each event is one delivery to each of them. */
export const endpointsMax = 50;
/** Pauses that are remembered: what waits from before an older one was sent or settled long ago. */
const pausesMax = 8;
/** Changes of `maxBatch` that are remembered, likewise. */
const batchesMax = 8;

export interface NewEndpoint {
  readonly url: string;
  readonly events: EndpointRecord['events'];
  readonly description?: string | undefined;
  readonly maxBatch: number;
}

/** Absent = unchanged; `description: null` deletes it. */
export interface EndpointChange {
  readonly url?: string | undefined;
  readonly events?: EndpointRecord['events'] | undefined;
  readonly description?: string | null | undefined;
  readonly maxBatch?: number | undefined;
  readonly status?: EndpointRecord['status'] | undefined;
}

export interface CreatedEndpoint {
  readonly endpoint: EndpointRecord;
  /** Shown once. */
  readonly secret: string;
}

/** Called inside the transaction of the change, with its result. */
type InTransaction<T> = (result: T) => void;

/** `undefined`: it was deleted. */
type Listener = (no: EndpointNo, record: EndpointRecord | undefined) => void;

export interface EndpointsOptions {
  readonly management: Management;
  readonly ids: IdSource;
  readonly clock: Clock;
  readonly randomBytes: RandomBytes;
  readonly cipher: Cipher;
  /** The egress guard's check of an address: undefined, or a fault of `url`. */
  readonly urlFault: (url: string) => Fault | undefined;
  /** Sequence of the newest block of scans. */
  readonly lastBlock: () => number;
  /** In a cluster. */
  readonly numbers?: BlockNumbers | undefined;
}

export class Endpoints {
  readonly #options: EndpointsOptions;
  readonly #secrets: Secrets;
  readonly #index = new EndpointIndex();
  readonly #listeners = new Set<Listener>();
  readonly #damaged = new Set<EndpointNo>();

  constructor(options: EndpointsOptions) {
    this.#options = options;
    this.#secrets = new Secrets(options.cipher, options.randomBytes);
    const damaged = (no: EndpointNo): void => void this.#damaged.add(no);
    for (const { value } of options.management.webhooks.endpoints.range({}, damaged)) {
      this.#index.put(this.#usable(value));
    }
  }

  /** Its record cannot be read: nothing is sent to it, and nothing of it is deleted. */
  isDamaged(no: EndpointNo): boolean {
    return this.#damaged.has(no);
  }

  /** Checks the form of an address. A name is resolved at every attempt, not here. */
  urlFault(url: string): Fault | undefined {
    return this.#options.urlFault(url);
  }

  /** @throws Failure validation_failed for a refused address, conflict when there are too many */
  async create(
    { workspaceNo, userId }: Pick<Actor, 'workspaceNo' | 'userId'>,
    { url, events, description, maxBatch }: NewEndpoint,
    inTransaction: InTransaction<CreatedEndpoint> = () => undefined,
  ): Promise<CreatedEndpoint> {
    const { management, ids, clock, numbers } = this.#options;
    this.#assertUrl(url);
    const { secret, encrypted } = this.#secrets.create();
    const created = await management.environment.transaction(() => {
      this.#assertCapacity(workspaceNo);
      const createdAtMs = clock.now();
      const ends = this.#ends();
      const endpoint: EndpointRecord = {
        no: management.next('endpoint'),
        id: ids.newId('whk'),
        workspaceNo,
        url,
        events,
        ...(description === undefined ? {} : { description }),
        maxBatch,
        secrets: [{ sealed: encrypted }],
        status: 'enabled',
        firstEvent: ends.event,
        firstBlock: ends.block,
        ...stampOf(numbers),
        createdAtMs,
        updatedAtMs: createdAtMs,
        createdBy: userId,
      };
      management.webhooks.endpoints.put(endpoint.no, endpoint);
      management.webhooks.workspaceEndpoints.put([workspaceNo, endpoint.no], 1);
      inTransaction({ endpoint, secret });
      return { endpoint, secret };
    });
    this.#reload(created.endpoint.no);
    return created;
  }

  /** Newest first. */
  list(workspaceNo: WorkspaceNo): EndpointRecord[] {
    return this.#index.ofWorkspace(workspaceNo);
  }

  /** @throws Failure not_found, also for another workspace's */
  get(workspaceNo: WorkspaceNo, id: string): EndpointRecord {
    const record = this.#index.ofWorkspace(workspaceNo).find((one) => one.id === id);
    if (record === undefined) throw notFound();
    return record;
  }

  /** @throws Failure not_found, validation_failed for a refused address */
  async change(
    workspaceNo: WorkspaceNo,
    id: string,
    change: EndpointChange,
  ): Promise<EndpointRecord> {
    const { no } = this.get(workspaceNo, id);
    if (change.url !== undefined) this.#assertUrl(change.url);
    return await this.#rewrite(no, (record) => this.#changed(record, change));
  }

  /** The endpoint drain cancels its queue. @throws Failure not_found, also the second time */
  async delete(workspaceNo: WorkspaceNo, id: string): Promise<EndpointRecord> {
    const { management } = this.#options;
    const { endpoints, workspaceEndpoints } = management.webhooks;
    const { no } = this.get(workspaceNo, id);
    const deleted = await management.environment.transaction(() => {
      const record = endpoints.get(no);
      if (record === undefined) throw notFound();
      endpoints.remove(no);
      workspaceEndpoints.remove([workspaceNo, no]);
      return record;
    });
    this.#reload(no);
    return deleted;
  }

  /** @throws Failure not_found, conflict when too many secrets would be valid */
  async rotateSecret(
    workspaceNo: WorkspaceNo,
    id: string,
    overlapMs: number,
    inTransaction: InTransaction<CreatedEndpoint> = () => undefined,
  ): Promise<CreatedEndpoint> {
    const { no } = this.get(workspaceNo, id);
    const { secret, encrypted } = this.#secrets.create();
    const endpoint = await this.#rewrite(
      no,
      (record, nowMs) => {
        const secrets = rotated(record.secrets, encrypted, overlapMs, nowMs);
        return { ...record, secrets, updatedAtMs: nowMs };
      },
      (stored) => inTransaction({ endpoint: stored, secret }),
    );
    return { endpoint, secret };
  }

  /** For the dispatcher: nothing more is sent to it. A deleted endpoint stays deleted. */
  async disable(no: EndpointNo, reason: DisabledReason): Promise<void> {
    if (this.#index.byNo(no)?.status !== 'enabled') return;
    try {
      await this.#rewrite(no, (record) => this.#disabled(record, reason));
    } catch (error) {
      if (!(error instanceof Failure) || error.code !== 'not_found') throw error;
    }
  }

  /** Of all workspaces. */
  all(): EndpointRecord[] {
    return this.#index.all();
  }

  byNo(no: EndpointNo): EndpointRecord | undefined {
    return this.#index.byNo(no);
  }

  /** Endpoints of the workspace that subscribe to the kind; of a disabled one `isFor` tells what it still gets. */
  forEvent(workspaceNo: WorkspaceNo, kind: EventKind): readonly EndpointRecord[] {
    return this.#index.forEvent(workspaceNo, kind);
  }

  /** Whether any endpoint of the service listens to something. */
  get isAny(): boolean {
    return this.#index.isAny;
  }

  /** Whether any endpoint of the service listens to the kind. */
  isAnyFor(kind: EventKind): boolean {
    return this.#index.isAnyFor(kind);
  }

  /** The secrets that sign a delivery now, newest first; none for a deleted endpoint. */
  secretsOf(no: EndpointNo): readonly string[] {
    const record = this.#index.byNo(no);
    return record === undefined
      ? []
      : this.#secrets.decrypt(record.secrets, this.#options.clock.now());
  }

  /** When the last of the older secrets expires; undefined when only the newest is valid. */
  overlapEndMs({ secrets }: EndpointRecord): number | undefined {
    const ends = validOf(secrets, this.#options.clock.now()).flatMap(
      ({ expiresAtMs }) => expiresAtMs ?? [],
    );
    return ends.length === 0 ? undefined : Math.max(...ends);
  }

  /** Called after each change, with the record as stored, or undefined for a deleted one. */
  onChange(listener: Listener): void {
    this.#listeners.add(listener);
  }

  /**
   * Replaces the record by what `change` makes of it; returning the same record changes nothing.
   * @throws Failure not_found when it was deleted meanwhile
   */
  async #rewrite(
    no: EndpointNo,
    change: (record: EndpointRecord, nowMs: number) => EndpointRecord,
    inTransaction: InTransaction<EndpointRecord> = () => undefined,
  ): Promise<EndpointRecord> {
    const { management, clock, numbers } = this.#options;
    const { endpoints } = management.webhooks;
    const stored = await management.environment.transaction(() => {
      const record = endpoints.get(no);
      if (record === undefined) throw notFound();
      const here = renumbered(record, numbers);
      const next = change(here, clock.now());
      if (next !== here) endpoints.put(no, next);
      inTransaction(next);
      return next;
    });
    this.#reload(no);
    return this.#index.byNo(no) ?? stored;
  }

  #changed(record: EndpointRecord, change: EndpointChange): EndpointRecord {
    const { url, events, description, maxBatch, status } = change;
    const { description: before, ...rest } = record;
    const nextDescription = description === undefined ? before : (description ?? undefined);
    const nowMs = this.#options.clock.now();
    const next: EndpointRecord = {
      ...rest,
      ...(nextDescription === undefined ? {} : { description: nextDescription }),
      url: url ?? record.url,
      events: events ?? record.events,
      maxBatch: maxBatch ?? record.maxBatch,
      updatedAtMs: nowMs,
    };
    const subscribed =
      events === undefined ? next : { ...next, since: this.#since(record, events) };
    const batched =
      next.maxBatch === record.maxBatch
        ? subscribed
        : { ...subscribed, batches: this.#batches(record) };
    if (status === undefined || status === record.status) return batched;
    return status === 'enabled' ? this.#enabled(batched) : this.#disabled(batched, 'by_hand');
  }

  /** Another `maxBatch` counts for what comes from now on. */
  #batches({ batches = [], maxBatch }: EndpointRecord): NonNullable<EndpointRecord['batches']> {
    return [...batches, { upTo: this.#ends().block, maxBatch }].slice(-batchesMax);
  }

  /** Of kinds that it did not subscribe to before, only what comes from now on is sent. */
  #since(
    before: EndpointRecord,
    events: EndpointRecord['events'],
  ): NonNullable<EndpointRecord['since']> {
    const ends = this.#ends();
    const kinds = eventKinds.filter((kind) => subscribesTo({ events }, kind));
    const since = kinds.map((kind) => {
      return [kind, subscribesTo(before, kind) ? before.since?.[kind] : ends] as const;
    });
    return Object.fromEntries(since.filter(([, from]) => from !== undefined));
  }

  /** Nothing that comes while it is disabled is sent. Inside a management transaction. */
  #disabled(record: EndpointRecord, reason: DisabledReason): EndpointRecord {
    if (record.status === 'disabled') return record;
    const pauses = [...(record.pauses ?? []), { from: this.#ends() }].slice(-pausesMax);
    return { ...disabled(record, reason, this.#options.clock.now()), pauses };
  }

  #enabled(record: EndpointRecord): EndpointRecord {
    const { disabledReason: _reason, disabledAtMs: _atMs, ...rest } = record;
    const to = this.#ends();
    const { from } = record.pauses?.at(-1) ?? {};
    const enabled = { ...rest, status: 'enabled' } as const;
    // Disabled by an earlier release: nothing of before waits.
    if (from === undefined) return { ...enabled, firstEvent: to.event, firstBlock: to.block };
    return { ...enabled, pauses: [...(record.pauses ?? []).slice(0, -1), { from, to }] };
  }

  /** Inside a management transaction. */
  #ends(): OutboxEnds {
    const { management, lastBlock, numbers, clock } = this.#options;
    const ends = { event: management.last('event'), block: lastBlock() };
    return numbers === undefined ? ends : { ...ends, atMs: clock.now() };
  }

  /** Loads the committed record into memory; correct in whatever order two changes arrive here. */
  #reload(no: EndpointNo): void {
    const { environment, webhooks } = this.#options.management;
    environment.refresh();
    const record = webhooks.endpoints.get(no);
    if (record === undefined) this.#index.remove(no);
    else this.#index.put(this.#usable(record));
    for (const listener of this.#listeners) listener(no, this.#index.byNo(no));
  }

  /**
   * Nothing is sent unsigned: while no secret can be decrypted, because the signing keys of the data folder were
   * lost, an endpoint is disabled. A new secret enables it again.
   */
  #usable(stored: EndpointRecord): EndpointRecord {
    const record = renumbered(stored, this.#options.numbers);
    const nowMs = this.#options.clock.now();
    if (this.#secrets.decrypt(record.secrets, nowMs).length > 0) return record;
    return disabled(record, 'secret_lost', nowMs);
  }

  /** @throws Failure validation_failed */
  #assertUrl(url: string): void {
    const fault = this.#options.urlFault(url);
    if (fault === undefined) return;
    throw new Failure('validation_failed', fault.message, { faults: [fault] });
  }

  /** Inside the transaction: counts what is stored. @throws Failure conflict */
  #assertCapacity(workspaceNo: WorkspaceNo): void {
    const start: [number, number] = [workspaceNo, 0];
    const end: [number, number] = [workspaceNo + 1, 0];
    const count = this.#options.management.webhooks.workspaceEndpoints.count({ start, end });
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

function notFound(): Failure {
  return new Failure('not_found', 'There is no webhook endpoint with this id');
}
