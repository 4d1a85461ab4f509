/**
 * A node asks to join, and what the leader answers (msgpack, one array each):
 *
 *   request   [1, name, id or '', role, threads, cluster or '', instance, [start, …], host]
 *   joined    [1, 'joined', cluster, id, run, journals, token, cores]
 *   refused   [1, 'refused', code, detail]
 */
import { packPlain } from '../../store/codec.ts';
import { isCount, readFields } from '../message-fields.ts';
import { isNodeName, isNodeRole } from './node-name.ts';
import { type JoinRequest, type Refusal, refusalCodes } from './registry.ts';

const messageVersion = 1;
/** It is printed on terminals. */
const isHost = (value: unknown): value is string =>
  typeof value === 'string' && /^[\w.-]{1,253}$/.test(value);

export interface Admission {
  readonly cluster: string;
  readonly id: string;
  readonly run: number;
  readonly journals: readonly number[];
  /** An edge's, for its requests to cores; empty for a core. */
  readonly token: string;
  /** Where the APIs of the cores are. */
  readonly cores: readonly string[];
}

export const encodeJoinRequest = (request: JoinRequest): Uint8Array => {
  const { name, id, role, threads, cluster, instance, starts = [], host = '' } = request;
  const fields = [name, id, role, threads, cluster, instance, starts, host];
  return packPlain([messageVersion, ...fields]);
};

/** @returns undefined for bytes that are no such message, or one of another version */
export function readJoinRequest(bytes: Uint8Array): JoinRequest | undefined {
  const [version, name, id, role, threads, cluster, instance, ...start] = readFields(bytes) ?? [];
  if (version !== messageVersion || !isNodeName(name) || !isNodeRole(role)) return undefined;
  if (!isCount(threads) || typeof id !== 'string') return undefined;
  if (typeof cluster !== 'string' || typeof instance !== 'string') return undefined;
  const [starts, host] = start;
  const isStart = Array.isArray(starts) && starts.every(isNodeName) && isHost(host);
  const said = isStart ? { starts, host } : {};
  return { name, id, role, threads, cluster, instance, ...said };
}

export function encodeJoinAnswer(answer: Admission | Refusal): Uint8Array {
  if ('refused' in answer) {
    return packPlain([messageVersion, 'refused', answer.refused, answer.detail]);
  }
  const { cluster, id, run, journals, token, cores } = answer;
  return packPlain([messageVersion, 'joined', cluster, id, run, journals, token, cores]);
}

/** @returns undefined for bytes that are no such message, or one of another version */
export function readJoinAnswer(bytes: Uint8Array): Admission | Refusal | undefined {
  const [version, kind, ...fields] = readFields(bytes) ?? [];
  if (version !== messageVersion) return undefined;
  if (kind === 'refused') return readRefusal(fields);
  return kind === 'joined' ? readAdmission(fields) : undefined;
}

function readRefusal([code, detail]: readonly unknown[]): Refusal | undefined {
  const refused = refusalCodes.find((known) => known === code);
  return refused === undefined || typeof detail !== 'string' ? undefined : { refused, detail };
}

function readAdmission(fields: readonly unknown[]): Admission | undefined {
  const [cluster, id, run, journals, token, cores] = fields;
  if (typeof cluster !== 'string' || typeof id !== 'string' || typeof token !== 'string') {
    return undefined;
  }
  if (!isCount(run) || !Array.isArray(journals) || !journals.every(isCount)) return undefined;
  const isList = Array.isArray(cores) && cores.every((core) => typeof core === 'string');
  return isList ? { cluster, id, run, journals, token, cores } : undefined;
}
