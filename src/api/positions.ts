/**
 * Positions that clients hold and send back: cursors of lists, ids of the event stream. What stands in them are
 * numbers of the whole installation, so in clear they would tell a workspace how busy the others are.
 *
 *   base64url( iv, 12 bytes | tag, 16 bytes | encrypted text, filled up to 16, 32, ... bytes )
 *
 * AES-256-GCM, with workspace and list as its additional data: what another workspace or list was given, what was
 * made up and what another installation gave are all the same, unknown. The iv is random, because equal positions
 * that read alike would say that nothing has happened anywhere. Nothing is stored; they hold across restarts for as
 * long as the oldest signing secret does. Encrypting one takes about 10 µs.
 */
import type { WorkspaceNo } from '../model/numbers.ts';
import { invalidCursor } from '../model/cursor.ts';
import type { SecretCipher } from '../workspaces/secret-cipher.ts';

export type PositionList =
  | 'campaigns'
  | 'codes'
  | 'dead letters'
  | 'deliveries'
  | 'events'
  | 'scans'
  | 'stream';

/** Longer texts than a position has would show their length. */
const fillBytes = 16;
/** 12 + 16 + 16 bytes at least. */
const shape = /^[\w-]{59,400}$/;

export class Positions {
  readonly #cipher: SecretCipher;

  constructor(cipher: SecretCipher) {
    this.#cipher = cipher;
  }

  /** @param text ASCII that does not end with a space */
  encrypt(workspaceNo: WorkspaceNo, list: PositionList, text: string): string {
    const filled = text.padEnd(Math.ceil(text.length / fillBytes) * fillBytes);
    return this.#cipher.encryptBytes(filled, contextOf(workspaceNo, list)).toString('base64url');
  }

  /** Undefined for what this workspace was not given for this list. */
  decrypt(workspaceNo: WorkspaceNo, list: PositionList, position: string): string | undefined {
    if (!shape.test(position)) return undefined;
    const bytes = Buffer.from(position, 'base64url');
    return this.#cipher.decryptBytes(bytes, contextOf(workspaceNo, list))?.trimEnd();
  }

  /** `decrypt` of a cursor, where there is one. @throws Failure validation_failed */
  readCursor(workspaceNo: WorkspaceNo, list: PositionList, cursor: string): string;
  readCursor(
    workspaceNo: WorkspaceNo,
    list: PositionList,
    cursor: string | undefined,
  ): string | undefined;
  readCursor(
    workspaceNo: WorkspaceNo,
    list: PositionList,
    cursor: string | undefined,
  ): string | undefined {
    if (cursor === undefined) return undefined;
    const text = this.decrypt(workspaceNo, list, cursor);
    if (text === undefined) throw invalidCursor();
    return text;
  }

  /** `encrypt` of a cursor, where there is one. */
  writeCursor(
    workspaceNo: WorkspaceNo,
    list: PositionList,
    text: string | undefined,
  ): string | undefined {
    return text === undefined ? undefined : this.encrypt(workspaceNo, list, text);
  }
}

function contextOf(workspaceNo: WorkspaceNo, list: PositionList): Buffer {
  return Buffer.from(`${workspaceNo} ${list}`);
}
