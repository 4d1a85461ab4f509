/**
 * Positions that clients send back: cursors of lists, ids of the event stream. They contain numbers of the whole
 * installation, which in clear text would show a workspace how busy the others are.
 *
 *   base64url( iv, 12 bytes | tag, 16 bytes | encrypted text, filled up to 16, 32, ... bytes )
 *
 * AES-256-GCM, with workspace and list as additional data: a position of another workspace, list or installation is
 * refused like an invented one. The iv is random: equal ciphertexts would show that no workspace was active. Positions are
 * not stored and stay valid across restarts, until the oldest signing secret expires. Encryption takes about 10 µs.
 */
import type { WorkspaceNo } from '../../model/numbers.ts';
import { invalidCursor } from '../../model/cursor.ts';
import type { SecretCipher } from '../../product/workspaces/secret-cipher.ts';

export type PositionList =
  | 'campaigns'
  | 'codes'
  | 'dead letters'
  | 'deliveries'
  | 'events'
  | 'incidents'
  | 'scans'
  | 'stream';

/** Texts are padded to a multiple of this, so that the length of a position reveals nothing. */
const fillBytes = 16;
/** 12 + 16 + 16 bytes at least. */
const shape = /^[\w-]{59,400}$/;

export class Positions {
  readonly #cipher: SecretCipher;

  constructor(cipher: SecretCipher) {
    this.#cipher = cipher;
  }

  /** The positions of one list for one workspace. */
  of(workspaceNo: WorkspaceNo, list: PositionList): ListPositions {
    return new ListPositions(this.#cipher, Buffer.from(`${workspaceNo} ${list}`));
  }
}

export class ListPositions {
  readonly #cipher: SecretCipher;
  readonly #context: Uint8Array;

  constructor(cipher: SecretCipher, context: Uint8Array) {
    this.#cipher = cipher;
    this.#context = context;
  }

  /** @param text ASCII that does not end with a space */
  encrypt(text: string): string {
    const filled = text.padEnd(Math.ceil(text.length / fillBytes) * fillBytes);
    return this.#cipher.encryptBytes(filled, this.#context).toString('base64url');
  }

  /** Undefined for a position that was not made for this workspace and list. */
  decrypt(position: string): string | undefined {
    if (!shape.test(position)) return undefined;
    return this.#cipher.decryptBytes(Buffer.from(position, 'base64url'), this.#context)?.trimEnd();
  }

  /** The text of the `cursor` of a query, if it has one. @throws Failure validation_failed */
  read(cursor: string | undefined): string | undefined {
    const text = cursor === undefined ? undefined : this.decrypt(cursor);
    if (text === undefined && cursor !== undefined) throw invalidCursor();
    return text;
  }

  /** The `nextCursor` of a page, if there is a next one. */
  write(text: string | undefined): string | undefined {
    return text === undefined ? undefined : this.encrypt(text);
  }
}
