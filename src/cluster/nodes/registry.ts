/**
 * The nodes of a cluster, by name: which journals each one writes, and as which run. Written by the leader alone, in
 * transactions of the replicated environment; every core reads it.
 *
 *   unknown name                   registered: an id, run 1, a journal for each of its redirect threads
 *   known name, its id             the same again; more journals where it has more threads now
 *   known name, no id              a new disk, or a second machine of that name. Refused while the registered one is
 *                                  connected; else registered again: another id, the next run, journals of its own
 *   its id, and not its last start a copy of a data folder: refused. Each start is recorded
 *   an id that is not the name's   an old disk, or one of a node that has left: refused. Registered again, it would take
 *                                  the name from the disk that has it now
 *   known name, no id, same start  the answer was lost, so nothing was written: the same again
 *
 * Journal numbers are given out once: a lost disk may have written scans, and its successor must not reuse their positions. So a
 * name gets `nameJournalsMax` at most.
 */
import type { Clock } from '../../model/clock.ts';
import type { IdSource } from '../../model/ids.ts';
import { Signal } from '../../model/signal.ts';
import { journalsMax, machineJournalsMax } from '../../engine/journal/positions.ts';
import type { NodeRecord, NodeRole, Registration } from '../../store/management/cluster.ts';
import type { Management } from '../../store/management/management.ts';
import type { JournalOwner } from '../scans/scan-transfer.ts';
import { ownNameRemedy } from './node-error.ts';

const identityKey = 'id';
/** 16 disks of the largest machine. The password of one edge does not suffice to use up all numbers. */
const nameJournalsMax = 1_024;

export interface JoinRequest {
  readonly name: string;
  /** Of its `cluster.json`; empty before its first registration. */
  readonly id: string;
  readonly role: NodeRole;
  /** Redirect threads: each writes a journal. */
  readonly threads: number;
  /** The cluster of its `cluster.json`; empty before its first registration. */
  readonly cluster: string;
  /** Names this start of the process, in its beats too. */
  readonly instance: string;
  /** Of its data folder, the present one last (start-record.ts). */
  readonly starts: readonly string[];
  readonly host: string;
}

export interface Refusal {
  /** Why, in a sentence for the operator. */
  readonly refused: string;
  /** Another node under this name is connected: it may have ended. */
  readonly mayLapse: boolean;
}

export interface Joined {
  readonly cluster: string;
  readonly node: NodeRecord;
}

export interface RegistryOptions {
  readonly store: Management;
  readonly ids: IdSource;
  readonly clock: Clock;
  /** The start of the process that a connected node of this name is; undefined where it is not connected. */
  readonly instanceOf: (name: string) => string | undefined;
}

/** What the rows say, as of one count of changes. */
interface View {
  readonly changes: number;
  readonly nodes: readonly NodeRecord[];
  readonly owners: ReadonlyMap<number, Omit<JournalOwner, 'journal'>>;
}

export class Registry {
  readonly #options: RegistryOptions;
  #view: View | undefined;
  /** Number of the last change that `changed` was fired for. */
  #announced: number;
  readonly #unlisten: () => void;
  /** Fired when nodes have joined, changed or left, on every core. */
  readonly changed = new Signal();

  constructor(options: RegistryOptions) {
    this.#options = options;
    const { store } = options;
    this.#announced = store.last('node');
    this.#unlisten = store.environment.committed.listen(() => this.#committed());
  }

  close(): void {
    this.#unlisten();
  }

  /** Undefined until a leader has made it. */
  get clusterId(): string | undefined {
    return this.#options.store.cluster.identity.get(identityKey);
  }

  /** Of the leader: makes the id of a new cluster. @throws Failure not_active */
  async begin(): Promise<string> {
    const { store, ids } = this.#options;
    return await store.environment.transaction(() => {
      const known = this.clusterId;
      if (known !== undefined) return known;
      const made = ids.newId('cl');
      store.cluster.identity.put(identityKey, made);
      return made;
    });
  }

  /** Of the leader. @throws Failure not_active; Error before `begin` */
  async join(request: JoinRequest): Promise<Joined | Refusal> {
    const { store } = this.#options;
    return await store.environment.transaction(() => this.#join(request));
  }

  /** Of the leader: the node has left, its journals stay known. @returns false for an unknown name @throws Failure not_active */
  async remove(name: string): Promise<boolean> {
    const { store, clock } = this.#options;
    return await store.environment.transaction(() => {
      const node = store.cluster.nodes.get(name);
      if (node === undefined || node.leftAtMs !== undefined) return false;
      this.#put({ ...node, leftAtMs: clock.now() });
      return true;
    });
  }

  /** All that have not left, by name. */
  nodes(): readonly NodeRecord[] {
    return this.#current().nodes;
  }

  /** Those that keep the data. */
  cores(): readonly NodeRecord[] {
    return this.nodes().filter(({ role }) => role !== 'edge');
  }

  find(name: string): NodeRecord | undefined {
    return this.nodes().find((node) => node.name === name);
  }

  /** By journal that was given out: the node that writes it, or wrote it, and as which run. */
  owners(): View['owners'] {
    return this.#current().owners;
  }

  /** Of a name, of all its registrations. */
  journalsOf(name: string): number[] {
    return [...this.owners()].flatMap(([journal, { node }]) => (node === name ? [journal] : []));
  }

  #join(request: JoinRequest): Joined | Refusal {
    const { store, ids, clock } = this.#options;
    const cluster = this.clusterId;
    if (cluster === undefined) throw new Error('Cannot register a node: the cluster has no id yet');
    const { name, role, threads, starts, host } = request;
    const known = store.cluster.nodes.get(name);
    const wanted = role === 'core' ? 0 : threads;
    const id = starts.at(-1);
    const isRepeated = request.id === '' && id !== undefined && known?.start?.id === id;
    const isAsked = known?.id === request.id || isRepeated;
    const isSame = known !== undefined && known.leftAtMs === undefined && isAsked;
    const missing = Math.max(0, wanted - (isSame ? known.journals.length : 0));
    const refusal = this.#refusal(request, known) ?? this.#numbersRefusal(name, wanted, missing);
    if (refusal !== undefined) return refusal;
    const last = isSame ? known.start : undefined;
    const start = id === undefined || id === last?.id ? last : { id, host };
    const isRecorded = isSame && missing === 0 && known.role === role && start === last;
    if (isRecorded) return { cluster, node: known };
    const journals = Array.from({ length: missing }, () => store.next('journal'));
    if (isSame) {
      const all = [...known.journals, ...journals];
      const node = { ...known, role, journals: all, ...(start && { start }) };
      return { cluster, node: this.#put(node) };
    }
    const node = {
      id: ids.newId('n'),
      name,
      role,
      journals,
      run: (known?.run ?? 0) + 1,
      past: known === undefined ? [] : [...known.past, registrationOf(known)],
      joinedAtMs: clock.now(),
      ...(start && { start }),
    };
    return { cluster, node: this.#put(node) };
  }

  #refusal(
    { name, id, role, cluster, instance, starts }: JoinRequest,
    known: NodeRecord | undefined,
  ): Refusal | undefined {
    const { instanceOf } = this.#options;
    if (cluster !== '' && cluster !== this.clusterId) {
      return refuse(`its data folder is of the cluster ${cluster}`);
    }
    const isKnown = known !== undefined && known.leftAtMs === undefined;
    if (isKnown && (known.role === 'edge') !== (role === 'edge')) {
      return refuse(`${name} is the name of a node with the role ${known.role}`);
    }
    const last = isKnown && known.id === id ? known.start : undefined;
    // A folder without a recorded start has lost its `start.json`, or an operator has removed it.
    if (last !== undefined && starts.length > 1 && !starts.includes(last.id)) {
      const why = `its data folder is a copy: ${name} has started on ${last.host} since`;
      return refuse(`${why}; start it in an empty data folder`);
    }
    const running = isKnown ? instanceOf(name) : undefined;
    if (running !== undefined && running !== instance) {
      const why = `${name} runs on ${known?.start?.host ?? 'another machine'}`;
      return { ...refuse(`${why}; ${ownNameRemedy}`), mayLapse: true };
    }
    if (id !== '' && (!isKnown || known.id !== id)) {
      const why = `its data folder is of ${id}, and ${name} is ${isKnown ? known.id : 'not a node'} now`;
      return refuse(`${why}; start it in an empty data folder`);
    }
    return undefined;
  }

  #numbersRefusal(name: string, wanted: number, missing: number): Refusal | undefined {
    if (wanted > machineJournalsMax) {
      const why = `set redirect.threads to ${machineJournalsMax} or less, it asks for ${wanted}`;
      return refuse(why);
    }
    if (missing > 0 && this.journalsOf(name).length + missing > nameJournalsMax) {
      const why = `${name} has had its ${nameJournalsMax} journals; start it under another name`;
      return refuse(why);
    }
    if (this.#options.store.last('journal') + missing >= journalsMax) {
      return refuse(`all ${journalsMax - 1} journals are given out`);
    }
    return undefined;
  }

  #put(node: NodeRecord): NodeRecord {
    const { store } = this.#options;
    store.cluster.nodes.put(node.name, node);
    store.next('node');
    return node;
  }

  #committed(): void {
    const changes = this.#options.store.last('node');
    if (changes === this.#announced) return;
    this.#announced = changes;
    this.changed.fire();
  }

  #current(): View {
    const { store } = this.#options;
    const changes = store.last('node');
    if (this.#view?.changes === changes) return this.#view;
    const rows = Array.from(store.cluster.nodes.range({}), ({ value }) => value);
    const owners = new Map<number, Omit<JournalOwner, 'journal'>>();
    for (const row of rows) {
      for (const { journals, run } of [...row.past, row]) {
        for (const journal of journals) owners.set(journal, { node: row.name, run });
      }
    }
    this.#view = { changes, nodes: rows.filter(({ leftAtMs }) => leftAtMs === undefined), owners };
    return this.#view;
  }
}

const registrationOf = ({ journals, run }: Registration): Registration => ({ journals, run });

const refuse = (why: string): Refusal => ({
  refused: `Cannot join the cluster: ${why}`,
  mayLapse: false,
});
