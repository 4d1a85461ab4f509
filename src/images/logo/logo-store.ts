/**
 * The pictures of logos, named by their content: 32 hexadecimal digits.
 *
 *   a machine alone   files, `<folder>/<name>.png`, complete and synced before they are renamed into place
 *   a core            rows of the replicated table `logo_files`: whichever core leads can draw them
 *
 * Content is checked against the name when it is read: a damaged picture is an error, never a wrong logo.
 */
import { createHash, randomUUID } from 'node:crypto';
import { access, mkdir, open, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Failure } from '../../model/failure.ts';
import type { Management } from '../../store/management/management.ts';
import type { LogoImage } from '../draw/picture.ts';

/** 128 bits: two different pictures never share a name. */
const nameDigits = 32;
/** Offset of width and height in a PNG: signature, length and type of IHDR. */
const headerStart = 16;

export interface LogoStore {
  /** Where it is there already, nothing is written. @returns its name @throws Failure storage_full */
  put(png: Uint8Array): Promise<string>;
  /** @throws Error when the picture is missing or damaged */
  get(name: string): Promise<LogoImage>;
  delete(name: string): Promise<void>;
}

export class LogoFiles implements LogoStore {
  readonly #folder: string;
  readonly #rows: LogoRows | undefined;

  /** @param rows pictures that a core had, whose backup became this machine alone */
  constructor(folder: string, rows?: LogoRows) {
    this.#folder = folder;
    this.#rows = rows;
  }

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

  async get(name: string): Promise<LogoImage> {
    if (this.#rows?.has(name)) return await this.#rows.get(name);
    return imageOf(name, Uint8Array.from(await readFile(this.#file(name))));
  }

  async delete(name: string): Promise<void> {
    await rm(this.#file(name), { force: true });
  }

  #file(name: string): string {
    return join(this.#folder, `${name}.png`);
  }
}

export class LogoRows implements LogoStore {
  readonly #store: Pick<Management, 'environment' | 'logos'>;

  constructor(store: Pick<Management, 'environment' | 'logos'>) {
    this.#store = store;
  }

  has(name: string): boolean {
    return this.#store.logos.files.has(name);
  }

  async put(png: Uint8Array): Promise<string> {
    const { environment, logos } = this.#store;
    const name = nameOf(png);
    if (!this.has(name)) await environment.transaction(() => logos.files.put(name, png));
    return name;
  }

  async get(name: string): Promise<LogoImage> {
    const png = this.#store.logos.files.get(name);
    if (png === undefined) throw new Error(`Cannot read logo ${name}: expected its picture`);
    return imageOf(name, Uint8Array.from(png));
  }

  async delete(name: string): Promise<void> {
    const { environment, logos } = this.#store;
    await environment.transaction(() => logos.files.remove(name));
  }
}

/** @param png with a buffer of its own */
function imageOf(name: string, png: Uint8Array<ArrayBuffer>): LogoImage {
  if (nameOf(png) !== name) {
    throw new Error(`Cannot read logo ${name}: its picture is damaged, expected what was stored`);
  }
  const view = new DataView(png.buffer);
  return { png, width: view.getUint32(headerStart), height: view.getUint32(headerStart + 4) };
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
