/** A node asks to join, and what the leader answers. */
import { isCount, isFlag, isText, listOf, messageFormat } from '../message-fields.ts';
import { isNodeName, isNodeRole } from './node-name.ts';
import type { JoinRequest, Refusal } from './registry.ts';

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

/** It is printed on terminals. */
const isHost = (value: unknown): value is string => isText(value) && /^[\w.-]{0,253}$/.test(value);

export const { encode: encodeJoinRequest, read: readJoinRequest } = messageFormat<JoinRequest>({
  name: isNodeName,
  id: isText,
  role: isNodeRole,
  threads: isCount,
  cluster: isText,
  instance: isText,
  starts: listOf(isNodeName),
  host: isHost,
});

// The first fields differ in their types: neither is read as the other.
const refusalFormat = messageFormat<Refusal>({ mayLapse: isFlag, refused: isText });
const admissionFormat = messageFormat<Admission>({
  cluster: isText,
  id: isText,
  run: isCount,
  journals: listOf(isCount),
  token: isText,
  cores: listOf(isText),
});

export const encodeJoinAnswer = (answer: Admission | Refusal): Uint8Array =>
  'refused' in answer ? refusalFormat.encode(answer) : admissionFormat.encode(answer);

/** @returns undefined for bytes that are no such message, or one of another version */
export const readJoinAnswer = (bytes: Uint8Array): Admission | Refusal | undefined =>
  refusalFormat.read(bytes) ?? admissionFormat.read(bytes);
