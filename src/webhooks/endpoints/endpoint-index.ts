/**
 * All endpoints in memory: by number, by id, and the listeners of a workspace for each kind of event. The lists of
 * listeners are built once per change, so a query costs two look-ups and allocates nothing.
 */
import { eventKinds, type EventKind } from '../../model/event.ts';
import type { EndpointRecord } from '../../model/webhook.ts';
import type { EndpointNo, WorkspaceNo } from '../../model/numbers.ts';

type Listeners = ReadonlyMap<EventKind, readonly EndpointRecord[]>;

const noListeners: readonly EndpointRecord[] = [];

export class EndpointIndex {
  readonly #byNo = new Map<number, EndpointRecord>();
  readonly #noById = new Map<string, number>();
  readonly #nosByWorkspace = new Map<number, Set<number>>();
  readonly #listeners = new Map<number, Listeners>();
  /** Number of workspaces with a listener, by kind. */
  readonly #workspacesListening = new Map<EventKind, number>();

  put(record: EndpointRecord): void {
    const { no, id, workspaceNo } = record;
    this.#byNo.set(no, record);
    this.#noById.set(id, no);
    const nos = this.#nosByWorkspace.get(workspaceNo) ?? new Set();
    this.#nosByWorkspace.set(workspaceNo, nos.add(no));
    this.#rebuild(workspaceNo, nos);
  }

  remove(no: EndpointNo): void {
    const record = this.#byNo.get(no);
    if (record === undefined) return;
    const { id, workspaceNo } = record;
    this.#byNo.delete(no);
    this.#noById.delete(id);
    const nos = this.#nosByWorkspace.get(workspaceNo) ?? new Set();
    nos.delete(no);
    if (nos.size === 0) this.#nosByWorkspace.delete(workspaceNo);
    this.#rebuild(workspaceNo, nos);
  }

  byNo(no: EndpointNo): EndpointRecord | undefined {
    return this.#byNo.get(no);
  }

  byId(id: string): EndpointRecord | undefined {
    const no = this.#noById.get(id);
    return no === undefined ? undefined : this.#byNo.get(no);
  }

  /** A workspace's endpoints, newest first. */
  ofWorkspace(workspaceNo: WorkspaceNo): EndpointRecord[] {
    const nos = [...(this.#nosByWorkspace.get(workspaceNo) ?? [])];
    return nos.sort((a, b) => b - a).flatMap((no) => this.#byNo.get(no) ?? []);
  }

  /** Enabled endpoints of the workspace that subscribe to the kind. */
  forEvent(workspaceNo: WorkspaceNo, kind: EventKind): readonly EndpointRecord[] {
    return this.#listeners.get(workspaceNo)?.get(kind) ?? noListeners;
  }

  get isAny(): boolean {
    return this.#listeners.size > 0;
  }

  /** Whether any workspace has a listener. */
  isAnyFor(kind: EventKind): boolean {
    return (this.#workspacesListening.get(kind) ?? 0) > 0;
  }

  #rebuild(workspaceNo: WorkspaceNo, nos: ReadonlySet<number>): void {
    const enabled = [...nos]
      .flatMap((no) => this.#byNo.get(no) ?? [])
      .filter(({ status }) => status === 'enabled');
    const next = new Map<EventKind, readonly EndpointRecord[]>();
    for (const kind of eventKinds) {
      const listeners = enabled.filter(({ events }) => listensTo(events, kind));
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

function listensTo(events: EndpointRecord['events'], kind: EventKind): boolean {
  return events.includes('*') || events.includes(kind);
}
