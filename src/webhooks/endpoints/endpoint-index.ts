/**
 * All endpoints in memory: by number, by workspace, and the listeners of a workspace for each kind of event. Each
 * change rebuilds the lists of listeners, so a query costs two look-ups and allocates nothing. `isFor` then decides
 * which entries of an outbox a listener gets.
 */
import { eventKinds, type EventKind } from '../../model/event.ts';
import type { EndpointRecord } from '../../model/webhook.ts';
import type { EndpointNo, WorkspaceNo } from '../../model/numbers.ts';

type Listeners = ReadonlyMap<EventKind, readonly EndpointRecord[]>;

const noListeners: readonly EndpointRecord[] = [];

export class EndpointIndex {
  readonly #byNo = new Map<number, EndpointRecord>();
  readonly #nosByWorkspace = new Map<number, Set<number>>();
  readonly #listeners = new Map<number, Listeners>();
  readonly #workspacesListening = new Map<EventKind, number>();

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
    return (this.#workspacesListening.get(kind) ?? 0) > 0;
  }

  #rebuild(workspaceNo: WorkspaceNo, nos: ReadonlySet<number>): void {
    const listening = [...nos].flatMap((no) => this.#byNo.get(no) ?? []).filter(isListening);
    const next = new Map<EventKind, readonly EndpointRecord[]>();
    for (const kind of eventKinds) {
      const listeners = listening.filter((endpoint) => subscribesTo(endpoint, kind));
      if (listeners.length > 0) next.set(kind, listeners);
    }
    const before = this.#listeners.get(workspaceNo);
    for (const kind of eventKinds) {
      const change = Number(next.has(kind)) - Number(before?.has(kind) ?? false);
      this.#workspacesListening.set(kind, (this.#workspacesListening.get(kind) ?? 0) + change);
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
