/**
 * The pictures of logos, as files named by their content: `<folder>/<32 hex digits>.png`.
 * A file is complete and synced before it is renamed into place, and its content is checked against the name
 * when it is read: a damaged file is an error, never a wrong logo.
 */
import { createHash, randomUUID } from 'node:crypto';
import { access, mkdir, open, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Failure } from '../../model/failure.ts';
import type { LogoImage } from '../draw/picture.ts';

/** 128 bits: two different pictures never share a name. */
const nameDigits = 32;
/** Offset of width and height in a PNG: signature, length and type of IHDR. */
const headerStart = 16;

export class LogoStore {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** @returns its name @throws Failure storage_full */
  async put(png: Uint8Array): Promise<string> {
    const name = nameOf(png);
    const file = this.#file(name);
    const isThere = await access(file).then(
      () => true,
      () => false,
    );
    if (isThere) return name;
    const draft = `${file}.${randomUUID()}.new`;
    try {
      await mkdir(this.#folder, { recursive: true, mode: 0o700 });
      await writeWhole(draft, png);
      await rename(draft, file);
    } catch (error) {
      await rm(draft, { force: true }).catch(() => undefined);
      throw storageFailure(error);
    }
    return name;
  }

  /** @throws Error when the file is missing or damaged */
  async get(name: string): Promise<LogoImage> {
    const png = Uint8Array.from(await readFile(this.#file(name)));
    if (nameOf(png) !== name) {
      throw new Error(`Cannot read logo ${name}: its file is damaged, expected what was stored`);
    }
    const view = new DataView(png.buffer);
    return { png, width: view.getUint32(headerStart), height: view.getUint32(headerStart + 4) };
  }

  async delete(name: string): Promise<void> {
    await rm(this.#file(name), { force: true });
  }

  #file(name: string): string {
    return join(this.#folder, `${name}.png`);
  }
}

/** The id of a picture in designs, whether it is stored or not. */
export function logoId(png: Uint8Array): string {
  return `logo:${nameOf(png)}`;
}

function nameOf(png: Uint8Array): string {
  return createHash('sha256').update(png).digest('hex').slice(0, nameDigits);
}

async function writeWhole(file: string, bytes: Uint8Array): Promise<void> {
  const handle = await open(file, 'wx', 0o600);
  try {
    await handle.writeFile(bytes);
    await handle.datasync();
  } finally {
    await handle.close();
  }
}

function storageFailure(error: unknown): unknown {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code !== 'ENOSPC' && code !== 'EDQUOT') return error;
  return new Failure('storage_full', 'Cannot store the logo: the disk is full');
}
