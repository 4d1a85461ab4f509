/**
 * A node says that it is up, and how far its links are (msgpack, one array):
 *
 *   [1, name, instance, role, redirects, linkNumber, url, isLast, version]
 *
 * Fields are added at the end: a program that does not know one ignores it, and one that misses one goes without. So nodes
 * of two versions are in one cluster while it is upgraded.
 */
import { packPlain } from '../../store/codec.ts';
import type { NodeRole } from '../../store/management/cluster.ts';
import { isCount, readFields } from '../message-fields.ts';
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
  /** Of its program; absent for one that does not say. */
  readonly version?: string | undefined;
}

export interface Beat extends NodeStart {
  /** Changes of links up to this number are in its link table. */
  readonly linkNumber: number;
  /** This start redirects no more, and sends no further beat. */
  readonly isLast: boolean;
}

export function encodeBeat(beat: Beat): Uint8Array {
  const { name, instance, role, redirects, linkNumber, url, isLast, version } = beat;
  const fields = [name, instance, role, redirects, linkNumber, url, isLast, version ?? null];
  return packPlain([messageVersion, ...fields]);
}

/** @returns undefined for bytes that are no such message, or one of another version */
export function readBeat(bytes: Uint8Array): Beat | undefined {
  const fields = readFields(bytes) ?? [];
  const [format, name, instance, role, redirects, linkNumber, url, isLast, said] = fields;
  if (format !== messageVersion || !isNodeName(name) || !isNodeRole(role)) return undefined;
  if (typeof instance !== 'string' || typeof url !== 'string') return undefined;
  if (typeof redirects !== 'boolean' || typeof isLast !== 'boolean') return undefined;
  if (!isCount(linkNumber)) return undefined;
  const version = typeof said === 'string' && versionPattern.test(said) ? said : undefined;
  return { name, instance, role, redirects, linkNumber, url, isLast, version };
}
