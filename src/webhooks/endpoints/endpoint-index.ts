/**
 * Endpoints in memory, as the dispatcher asks for them: who of a workspace listens to a kind of event, and
 * does anybody at all. Answers are arrays made once per change, so asking costs two look-ups and no memory.
 */
import { eventKinds, type EventKind } from '../../model/event.ts';
import type { EndpointRecord } from '../../model/webhook.ts';

type Listeners = ReadonlyMap<EventKind, readonly EndpointRecord[]>;

const nobody: readonly EndpointRecord[] = [];

export class EndpointIndex {
  readonly #byNo = new Map<number, EndpointRecord>();
  readonly #noById = new Map<string, number>();
  readonly #nosByWorkspace = new Map<number, Set<number>>();
  readonly #listeners = new Map<number, Listeners>();
  /** Workspaces with a listener, by kind. */
  readonly #listening = new Map<EventKind, number>();

  put(record: EndpointRecord): void {
    const { no, id, workspaceNo } = record;
    this.#byNo.set(no, record);
    this.#noById.set(id, no);
    const nos = this.#nosByWorkspace.get(workspaceNo) ?? new Set();
    this.#nosByWorkspace.set(workspaceNo, nos.add(no));
    this.#relist(workspaceNo, nos);
  }

  remove(no: number): void {
    const record = this.#byNo.get(no);
    if (record === undefined) return;
    const { id, workspaceNo } = record;
    this.#byNo.delete(no);
    this.#noById.delete(id);
    const nos = this.#nosByWorkspace.get(workspaceNo) ?? new Set();
    nos.delete(no);
    if (nos.size === 0) this.#nosByWorkspace.delete(workspaceNo);
    this.#relist(workspaceNo, nos);
  }

  byNo(no: number): EndpointRecord | undefined {
    return this.#byNo.get(no);
  }

  byId(id: string): EndpointRecord | undefined {
    const no = this.#noById.get(id);
    return no === undefined ? undefined : this.#byNo.get(no);
  }

  /** A workspace's endpoints, newest first. */
  ofWorkspace(workspaceNo: number): EndpointRecord[] {
    const nos = [...(this.#nosByWorkspace.get(workspaceNo) ?? [])];
    return nos.sort((a, b) => b - a).flatMap((no) => this.#byNo.get(no) ?? []);
  }

  /** Enabled endpoints of the workspace that subscribe to the kind. */
  forEvent(workspaceNo: number, kind: EventKind): readonly EndpointRecord[] {
    return this.#listeners.get(workspaceNo)?.get(kind) ?? nobody;
  }

  /** Whether any workspace has a listener. */
  isAnyFor(kind: EventKind): boolean {
    return (this.#listening.get(kind) ?? 0) > 0;
  }

  #relist(workspaceNo: number, nos: ReadonlySet<number>): void {
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
      this.#listening.set(kind, (this.#listening.get(kind) ?? 0) + change);
    }
    if (next.size > 0) this.#listeners.set(workspaceNo, next);
    else this.#listeners.delete(workspaceNo);
  }
}

function listensTo(events: EndpointRecord['events'], kind: EventKind): boolean {
  return events.includes('*') || events.includes(kind);
}
