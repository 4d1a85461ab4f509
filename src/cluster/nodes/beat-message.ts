/**
 * A beat: a node is up, its links and its journals go so far, and each second what a core has (msgpack, one array):
 *
 *   [1, name, instance, role, redirects, linkNumber, url, isLast, version, atMs, [[journal, tail], …], mark]
 *   mark   null, or [savedSeq, [[journal, position], …], [core, …], [core, delivery]]
 *
 * Fields are added at the end: a program that does not know one ignores it. So nodes of two versions are in one cluster
 * while it is upgraded.
 */
import { packPlain } from '../../store/codec.ts';
import type { NodeRole } from '../../store/management/cluster.ts';
import { isCount, isCountPair, readFields } from '../message-fields.ts';
import type { JournalPosition } from '../scans/scan-messages.ts';
import { isNodeName, isNodeRole } from './node-name.ts';

const messageVersion = 1;
/** It is printed on terminals. */
const versionPattern = /^[\w.+-]{1,64}$/;

export interface NodeStart {
  readonly name: string;
  /** Names this start of its process: an id of this moment, so that of two the later one is known by it. */
  readonly instance: string;
  readonly role: NodeRole;
  /** It answers scans: its links are waited for. */
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
  readonly counted: ReadonlyMap<number, number>;
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
  /** Of a core. */
  readonly mark?: Mark | undefined;
}

export function encodeBeat(beat: Beat): Uint8Array {
  const { name, instance, role, redirects, linkNumber, url, isLast, version, journaled } = beat;
  const { mark } = beat;
  const fields = [name, instance, role, redirects, linkNumber, url, isLast, version];
  const packed = mark ? [mark.savedSeq, [...mark.counted], mark.cores, mark.applied] : null;
  return packPlain([messageVersion, ...fields, journaled.atMs, journaled.tails, packed]);
}

/** @returns undefined for bytes that are no such message, or one of another version */
export function readBeat(bytes: Uint8Array): Beat | undefined {
  const fields = readFields(bytes) ?? [];
  const [format, name, instance, role, redirects, linkNumber, url, isLast, ...later] = fields;
  const [version, atMs, tails, packed] = later;
  if (format !== messageVersion || !isNodeName(name) || !isNodeRole(role)) return undefined;
  if (typeof instance !== 'string' || typeof url !== 'string') return undefined;
  if (typeof redirects !== 'boolean' || typeof isLast !== 'boolean') return undefined;
  if (typeof version !== 'string' || !versionPattern.test(version)) return undefined;
  if (!isCount(linkNumber) || !isCount(atMs)) return undefined;
  if (!Array.isArray(tails) || !tails.every(isCountPair)) return undefined;
  const mark = packed === null ? undefined : readMark(packed);
  if (packed !== null && mark === undefined) return undefined;
  const start = { name, instance, role, redirects, url, version };
  return { ...start, linkNumber, isLast, journaled: { atMs, tails }, mark };
}

function readMark(packed: unknown): Mark | undefined {
  const [savedSeq, counted, cores, applied]: readonly unknown[] = Array.isArray(packed)
    ? packed
    : [];
  if (!isCount(savedSeq) || !isCountPair(applied)) return undefined;
  if (!Array.isArray(counted) || !counted.every(isCountPair)) return undefined;
  if (!Array.isArray(cores) || !cores.every(isNodeName)) return undefined;
  return { savedSeq, counted: new Map(counted), cores, applied };
}

/** Beats of all cores, and of all edges. */
export const coreBeats = 'qz.nodes.*';
export const edgeBeats = 'qz.edge.*.beat';

/** Permissions are of subjects: what a message says must be what its sender may say. */
export const beatSubject = ({ name, role }: Pick<NodeStart, 'name' | 'role'>): string =>
  role === 'edge' ? `qz.edge.${name}.beat` : `qz.nodes.${name}`;
