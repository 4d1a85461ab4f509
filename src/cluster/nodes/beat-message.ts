/** A beat: a node is up, its links and its journals go so far, and each second what a core has. */
import type { NodeRole } from '../../store/management/cluster.ts';
import {
  isCount,
  isCountPair,
  isFlag,
  isText,
  listOf,
  messageFormat,
  recordOf,
} from '../message-fields.ts';
import type { JournalPosition } from '../scans/scan-messages.ts';
import { isNodeName, isNodeRole } from './node-name.ts';

/** It is printed on terminals. */
const isVersion = (value: unknown): value is string =>
  isText(value) && /^[\w.+-]{1,64}$/.test(value);

export interface NodeStart {
  readonly name: string;
  /** Id of this start of its process, made of its time: of two starts, the later one has the higher id. */
  readonly instance: string;
  readonly role: NodeRole;
  /** It answers scans: changes wait for its links. */
  readonly redirects: boolean;
  /** Of its API; empty for an edge. */
  readonly url: string;
  /** Of its program. */
  readonly version: string;
}

/** Where a node's journals ended at a moment. */
export interface Journaled {
  /** By the wall clock that times its scans, read before the tails. */
  readonly atMs: number;
  /** Of all journals that it sends, also those of an earlier start. */
  readonly tails: readonly JournalPosition[];
}

/** The newest entry of each log that is applied. */
export type AppliedSeqs = readonly [core: number, delivery: number];

/** What a core has on its disk. */
export interface Mark {
  /** The newest entry of the log of scans. */
  readonly savedSeq: number;
  /** By journal: all scans below are counted. At most 13 bytes each, 0.8 MB in all: a message of NATS has 1 MB. */
  readonly counted: readonly JournalPosition[];
  /** Names of all registered cores, as it knows them: edges know them by this alone. */
  readonly cores: readonly string[];
  readonly applied: AppliedSeqs;
}

export interface Beat extends NodeStart {
  /** Changes of links up to this number are in its link table. */
  readonly linkNumber: number;
  /** This start has stopped redirecting, and sends no other beat. */
  readonly isLast: boolean;
  readonly journaled: Journaled;
  /** Of a core, each second. */
  readonly mark: Mark | null;
}

const isMark = recordOf<Mark>({
  savedSeq: isCount,
  counted: listOf(isCountPair),
  cores: listOf(isNodeName),
  applied: isCountPair,
});

export const { encode: encodeBeat, read: readBeat } = messageFormat<Beat>({
  name: isNodeName,
  instance: isText,
  role: isNodeRole,
  redirects: isFlag,
  linkNumber: isCount,
  url: isText,
  isLast: isFlag,
  version: isVersion,
  journaled: recordOf<Journaled>({ atMs: isCount, tails: listOf(isCountPair) }),
  mark: (value): value is Mark | null => value === null || isMark(value),
});

/** Beats of all cores, and of all edges. */
export const coreBeats = 'qz.nodes.*';
export const edgeBeats = 'qz.edge.*.beat';

/** Permissions are of subjects: what a message says must be what its sender may say. */
export const beatSubject = ({ name, role }: Pick<NodeStart, 'name' | 'role'>): string =>
  role === 'edge' ? `qz.edge.${name}.beat` : `qz.nodes.${name}`;
