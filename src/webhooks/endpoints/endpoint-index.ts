/**
 * All endpoints in memory: by number, by workspace, and the listeners of a workspace for each kind of event. Each
 * change rebuilds the lists of listeners, so a query costs two look-ups and allocates nothing. `isFor` then decides
 * which entries of an outbox a listener gets.
 */
import { eventKinds, type EventKind } from '../../model/event.ts';
import type { EndpointPause, EndpointRecord, OutboxEnds } from '../../model/webhook.ts';
import type { EndpointNo, WorkspaceNo } from '../../model/numbers.ts';

type Listeners = ReadonlyMap<EventKind, readonly EndpointRecord[]>;

const noListeners: readonly EndpointRecord[] = [];

export class EndpointIndex {
  readonly #byNo = new Map<number, EndpointRecord>();
  readonly #nosByWorkspace = new Map<number, Set<number>>();
  readonly #listeners = new Map<number, Listeners>();

  put(record: EndpointRecord): void {
    const { no, workspaceNo } = record;
    this.#byNo.set(no, record);
    const nos = this.#nosByWorkspace.get(workspaceNo) ?? new Set();
    this.#nosByWorkspace.set(workspaceNo, nos.add(no));
    this.#rebuild(workspaceNo, nos);
  }

  remove(no: EndpointNo): void {
    const record = this.#byNo.get(no);
    if (record === undefined) return;
    const { workspaceNo } = record;
    this.#byNo.delete(no);
    const nos = this.#nosByWorkspace.get(workspaceNo) ?? new Set();
    nos.delete(no);
    if (nos.size === 0) this.#nosByWorkspace.delete(workspaceNo);
    this.#rebuild(workspaceNo, nos);
  }

  all(): EndpointRecord[] {
    return [...this.#byNo.values()];
  }

  byNo(no: EndpointNo): EndpointRecord | undefined {
    return this.#byNo.get(no);
  }

  ofWorkspace(workspaceNo: WorkspaceNo): EndpointRecord[] {
    const nos = [...(this.#nosByWorkspace.get(workspaceNo) ?? [])];
    return nos.sort((a, b) => b - a).flatMap((no) => this.#byNo.get(no) ?? []);
  }

  /** A workspace's endpoints that subscribe to the kind; also disabled ones, which get earlier events. */
  forEvent(workspaceNo: WorkspaceNo, kind: EventKind): readonly EndpointRecord[] {
    return this.#listeners.get(workspaceNo)?.get(kind) ?? noListeners;
  }

  get isAny(): boolean {
    return this.#listeners.size > 0;
  }

  isAnyFor(kind: EventKind): boolean {
    for (const listeners of this.#listeners.values()) if (listeners.has(kind)) return true;
    return false;
  }

  #rebuild(workspaceNo: WorkspaceNo, nos: ReadonlySet<number>): void {
    const listening = [...nos].flatMap((no) => this.#byNo.get(no) ?? []).filter(isListening);
    const next = new Map<EventKind, readonly EndpointRecord[]>();
    for (const kind of eventKinds) {
      const listeners = listening.filter((endpoint) => subscribesTo(endpoint, kind));
      if (listeners.length > 0) next.set(kind, listeners);
    }
    if (next.size > 0) this.#listeners.set(workspaceNo, next);
    else this.#listeners.delete(workspaceNo);
  }
}

export const subscribesTo = (
  { events }: Pick<EndpointRecord, 'events'>,
  kind: EventKind,
): boolean => events.includes('*') || events.includes(kind);

/** Whether an endpoint subscribes to the kind, and did and was enabled when the entry `sequence` was written. */
export function isFor(endpoint: EndpointRecord, kind: EventKind, sequence: number): boolean {
  if (!subscribesTo(endpoint, kind)) return false;
  const { firstEvent, firstBlock, since = {}, pauses = [] } = endpoint;
  const side = kind === 'qr.scanned' ? 'block' : 'event';
  const first = since[kind]?.[side] ?? (side === 'block' ? firstBlock : firstEvent);
  if (sequence <= first) return false;
  return !pauses.some(
    ({ from, to }) => sequence > from[side] && sequence <= (to?.[side] ?? Infinity),
  );
}

/** An endpoint that is disabled for its lost secret has no pause: it gets nothing. */
const isListening = ({ status, pauses }: EndpointRecord): boolean => {
  const pause = pauses?.at(-1);
  return status === 'enabled' || (pause !== undefined && pause.to === undefined);
};

/** Clocks of a cluster differ by less than this. */
const skewMs = 2_000;

export interface BlockNumbers {
  /** The core whose numbers are written now; empty on a single machine. */
  readonly core: string;
  /** The last block whose scans are all older than `timeMs`. */
  readonly lastBefore: (timeMs: number) => number;
}

export const stampOf = (numbers: BlockNumbers | undefined): Pick<EndpointRecord, 'core'> =>
  numbers === undefined || numbers.core === '' ? {} : { core: numbers.core };

/**
 * Converts an endpoint's block numbers that another machine of a cluster wrote, by their times. That machine's clock
 * dates the moments, the redirecting machines date the scans: a scan too many may be sent, never one too few.
 */
export function renumbered(
  record: EndpointRecord,
  numbers: BlockNumbers | undefined,
): EndpointRecord {
  if (numbers === undefined || (record.core ?? '') === numbers.core) return record;
  const { core, lastBefore } = numbers;
  const { batches: _of, ...rest } = record;
  /** The last block that is not sent from `atMs` on. */
  const from = (atMs: number): number => lastBefore(atMs - skewMs);
  const since = Object.entries(record.since ?? {}).map(([kind, ends]) => {
    return [kind, { ...ends, block: from(ends.atMs ?? record.createdAtMs) }] as const;
  });
  const pauses = (record.pauses ?? []).flatMap((pause): EndpointPause[] => {
    const begunMs = pause.from.atMs ?? (pause.to === undefined ? record.disabledAtMs : undefined);
    // The pause began on a single machine: its events were settled long ago.
    if (begunMs === undefined) return [];
    const begun: OutboxEnds = { ...pause.from, block: lastBefore(begunMs + skewMs) };
    if (pause.to === undefined) return [{ from: begun }];
    return [{ from: begun, to: { ...pause.to, block: from(pause.to.atMs ?? begunMs) } }];
  });
  return {
    ...rest,
    core,
    firstBlock: from(record.createdAtMs),
    ...(record.since !== undefined && { since: Object.fromEntries(since) }),
    ...(record.pauses !== undefined && { pauses }),
  };
}
