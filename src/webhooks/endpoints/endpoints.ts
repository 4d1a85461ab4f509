/**
 * Endpoints: the URLs that get a workspace's events. The records are in the management environment, and all in memory
 * too, because every event looks up its listeners (endpoint-index.ts).
 *
 * A change starts from the stored record inside its transaction, and memory is reloaded before the caller continues.
 * So an event that is caused after the API's answer finds the endpoint as the answer shows it. Only this process
 * changes endpoints.
 */
import { LRUCache } from 'lru-cache';
import type { Clock } from '../../model/clock.ts';
import { Failure, type Fault } from '../../model/failure.ts';
import type { IdSource, RandomBytes } from '../../model/ids.ts';
import { type EventKind, eventKinds } from '../../model/event.ts';
import type { DisabledReason, EndpointRecord, OutboxEnds } from '../../model/webhook.ts';
import type { Actor } from '../../model/workspace.ts';
import type { Management } from '../../store/management/management.ts';
import {
  type BlockNumbers,
  EndpointIndex,
  renumbered,
  stampOf,
  subscribesTo,
} from './endpoint-index.ts';
import { type Cipher, createSecret, decryptSecrets, rotated, validOf } from './secrets.ts';
import { type EndpointNo, type WorkspaceNo, workspaceNumbers } from '../../model/numbers.ts';

/** Endpoints of a workspace, disabled ones included: each event is one delivery to each of them. */
export const endpointsMax = 50;
/** Stored pauses: deliveries from before an older one were settled long ago. */
const pausesMax = 8;
/** Stored changes of `maxBatch`, likewise. */
const batchesMax = 8;

export interface NewEndpoint {
  readonly url: string;
  readonly events: EndpointRecord['events'];
  readonly description?: string | undefined;
  readonly maxBatch: number;
}

const secretsMax = 1_000;

/** Absent = unchanged; `description: null` deletes it. */
interface EndpointChange {
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

/** Called with the result inside the transaction of the change. */
type InTransaction<T> = (result: T) => void;

interface EndpointsOptions {
  readonly management: Management;
  readonly ids: IdSource;
  readonly clock: Clock;
  readonly randomBytes: RandomBytes;
  readonly cipher: Cipher;
  readonly urlFault: (url: string) => Fault | undefined;
  readonly lastBlock: () => number;
  /** Called after each change with the stored record, or undefined for a deleted one. */
  readonly onChange: (no: EndpointNo, record: EndpointRecord | undefined) => void;
  /** Only in a cluster. */
  readonly numbers?: BlockNumbers | undefined;
}

export class Endpoints {
  readonly #options: EndpointsOptions;
  readonly #index = new EndpointIndex();
  readonly #damaged = new Set<EndpointNo>();
  /** Decrypted secrets: a decryption costs as much as a signature. */
  readonly #secrets = new LRUCache<string, string>({ max: secretsMax });

  constructor(options: EndpointsOptions) {
    this.#options = options;
    const damaged = (no: EndpointNo): void => void this.#damaged.add(no);
    for (const { value } of options.management.webhooks.endpoints.range({}, damaged)) {
      this.#index.put(this.#usable(value));
    }
  }

  readonly #decrypt = (encrypted: string): string | undefined => {
    const known = this.#secrets.get(encrypted);
    if (known !== undefined) return known;
    const secret = this.#options.cipher.decrypt(encrypted);
    if (secret !== undefined) this.#secrets.set(encrypted, secret);
    return secret;
  };

  /** Its record cannot be read: nothing is sent to it, and nothing of it is deleted. */
  isDamaged(no: EndpointNo): boolean {
    return this.#damaged.has(no);
  }

  /** Checks the form of a URL. A name is resolved at every attempt, not here. */
  urlFault(url: string): Fault | undefined {
    return this.#options.urlFault(url);
  }

  /** @throws Failure validation_failed for a refused URL, conflict if there are too many endpoints */
  async create(
    { workspaceNo, userId }: Pick<Actor, 'workspaceNo' | 'userId'>,
    { url, events, description, maxBatch }: NewEndpoint,
    inTransaction: InTransaction<CreatedEndpoint> = () => undefined,
  ): Promise<CreatedEndpoint> {
    const { management, ids, clock, numbers, cipher, randomBytes } = this.#options;
    this.#assertUrl(url);
    const { secret, encrypted } = createSecret(cipher, randomBytes);
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
        secrets: [{ encrypted }],
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

  list(workspaceNo: WorkspaceNo): EndpointRecord[] {
    return this.#index.ofWorkspace(workspaceNo);
  }

  /** @throws Failure not_found, also for another workspace's */
  get(workspaceNo: WorkspaceNo, id: string): EndpointRecord {
    const record = this.#index.ofWorkspace(workspaceNo).find((one) => one.id === id);
    if (record === undefined) throw notFound();
    return record;
  }

  /** @throws Failure not_found, validation_failed for a refused URL */
  async change(
    workspaceNo: WorkspaceNo,
    id: string,
    change: EndpointChange,
  ): Promise<EndpointRecord> {
    const { no } = this.get(workspaceNo, id);
    if (change.url !== undefined) this.#assertUrl(change.url);
    return await this.#rewrite(no, (record) => this.#changed(record, change));
  }

  /** The endpoint drain cancels its queue. @throws Failure not_found, also at the second call */
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

  /** @throws Failure not_found, conflict if too many secrets would be valid */
  async rotateSecret(
    workspaceNo: WorkspaceNo,
    id: string,
    overlapMs: number,
    inTransaction: InTransaction<CreatedEndpoint> = () => undefined,
  ): Promise<CreatedEndpoint> {
    const { no } = this.get(workspaceNo, id);
    const { cipher, randomBytes } = this.#options;
    const { secret, encrypted } = createSecret(cipher, randomBytes);
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

  /** Disables an endpoint that is gone or has failed for days. A deleted endpoint stays deleted. */
  async disable(no: EndpointNo, reason: DisabledReason): Promise<void> {
    if (this.#index.byNo(no)?.status !== 'enabled') return;
    try {
      await this.#rewrite(no, (record) => this.#disabled(record, reason));
    } catch (error) {
      if (!(error instanceof Failure) || error.code !== 'not_found') throw error;
    }
  }

  all(): EndpointRecord[] {
    return this.#index.all();
  }

  byNo(no: EndpointNo): EndpointRecord | undefined {
    return this.#index.byNo(no);
  }

  /** A workspace's endpoints that subscribe to the kind; `isFor` decides what a disabled one still gets. */
  forEvent(workspaceNo: WorkspaceNo, kind: EventKind): readonly EndpointRecord[] {
    return this.#index.forEvent(workspaceNo, kind);
  }

  get isAny(): boolean {
    return this.#index.isAny;
  }

  isAnyFor(kind: EventKind): boolean {
    return this.#index.isAnyFor(kind);
  }

  /** The secrets that sign now, newest first; none for a deleted endpoint. */
  secretsOf(no: EndpointNo): readonly string[] {
    const record = this.#index.byNo(no);
    const nowMs = this.#options.clock.now();
    return record === undefined ? [] : decryptSecrets(this.#decrypt, record.secrets, nowMs);
  }

  /** Expiry of the last older secret; undefined if only the newest is valid. */
  overlapEndMs({ secrets }: EndpointRecord): number | undefined {
    const ends = validOf(secrets, this.#options.clock.now()).flatMap(
      ({ expiresAtMs }) => expiresAtMs ?? [],
    );
    return ends.length === 0 ? undefined : Math.max(...ends);
  }

  /** Replaces the record unless `change` returns the same one. @throws Failure not_found */
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

  /** A new `maxBatch` applies to later scans only. */
  #batches({ batches = [], maxBatch }: EndpointRecord): NonNullable<EndpointRecord['batches']> {
    return [...batches, { upTo: this.#ends().block, maxBatch }].slice(-batchesMax);
  }

  /** New kinds are sent from now on only. */
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

  /** Events that arrive while it is disabled are not sent. Inside a management transaction. */
  #disabled(record: EndpointRecord, reason: DisabledReason): EndpointRecord {
    if (record.status === 'disabled') return record;
    const pauses = [...(record.pauses ?? []), { from: this.#ends() }].slice(-pausesMax);
    return { ...disabled(record, reason, this.#options.clock.now()), pauses };
  }

  #enabled(record: EndpointRecord): EndpointRecord {
    const { disabledReason: _reason, disabledAtMs: _atMs, pauses = [], ...rest } = record;
    const ends = this.#ends();
    return {
      ...rest,
      status: 'enabled',
      pauses: pauses.map(({ from, to = ends }) => ({ from, to })),
    };
  }

  /** Inside a management transaction. */
  #ends(): OutboxEnds {
    const { management, lastBlock, numbers, clock } = this.#options;
    const ends = { event: management.last('event'), block: lastBlock() };
    return numbers === undefined ? ends : { ...ends, atMs: clock.now() };
  }

  /** Loads the committed record into memory; correct in any order of two changes. */
  #reload(no: EndpointNo): void {
    const { environment, webhooks } = this.#options.management;
    environment.refresh();
    const record = webhooks.endpoints.get(no);
    if (record === undefined) this.#index.remove(no);
    else this.#index.put(this.#usable(record));
    this.#options.onChange(no, this.#index.byNo(no));
  }

  /** Nothing is sent unsigned: if the signing keys are lost, the endpoint is disabled until it gets a new secret. */
  #usable(stored: EndpointRecord): EndpointRecord {
    const { clock, numbers } = this.#options;
    const record = renumbered(stored, numbers);
    const nowMs = clock.now();
    if (decryptSecrets(this.#decrypt, record.secrets, nowMs).length > 0) return record;
    return disabled(record, 'secret_lost', nowMs);
  }

  #assertUrl(url: string): void {
    const fault = this.#options.urlFault(url);
    if (fault === undefined) return;
    throw new Failure('validation_failed', fault.message, { faults: [fault] });
  }

  /** Counts the stored endpoints, inside the transaction. @throws Failure conflict */
  #assertCapacity(workspaceNo: WorkspaceNo): void {
    const { workspaceEndpoints } = this.#options.management.webhooks;
    const count = workspaceEndpoints.count(workspaceNumbers(workspaceNo));
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
