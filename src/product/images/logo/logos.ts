/**
 * The logos of workspaces: uploaded once, used by the designs of any number of codes.
 *
 *   bytes --> pool: cleaned --> one transaction: picture, named by its content; row of the workspace
 *
 * A workspace at its limit loses its oldest logos that no code uses, once they are a day old: a new upload stays until
 * its code is created.
 */
import { createHash } from 'node:crypto';
import type { Clock } from '../../../model/clock.ts';
import { dayMs } from '../../../model/day.ts';
import { Failure } from '../../../model/failure.ts';
import { termRange } from '../../../store/management/code-keys.ts';
import type { StoredLogo } from '../../../store/management/product-tables.ts';
import type { Management } from '../../../store/management/management.ts';
import type { LogoMediaType } from '../formats.ts';
import type { LogoImage } from '../draw/picture.ts';
import type { ImageTasks } from '../tasks.ts';
import type { WorkspaceNo } from '../../../model/numbers.ts';

/** At most 200 MB per workspace on disk. */
const logosMax = 200;
/** 128 bits: two different pictures never share a name. */
const nameDigits = 32;
/** Offset of width and height in a PNG: signature, length and type of IHDR. */
const headerStart = 16;

export interface Logo extends StoredLogo {
  /** `logo:<name>`, as a design has it. */
  readonly id: string;
  /** Live codes whose design has it. */
  readonly codes: number;
}

export interface LogosOptions {
  readonly store: Management;
  readonly clock: Clock;
  readonly tasks: Pick<ImageTasks, 'cleanLogo' | 'drawBrandLogo'>;
}

export class Logos {
  readonly #options: LogosOptions;

  constructor(options: LogosOptions) {
    this.#options = options;
  }

  /**
   * Cleans and stores a file; the same file again is the same logo.
   * @throws Failure validation_failed, conflict (too many in use), overloaded, storage_full
   */
  async add(workspaceNo: WorkspaceNo, bytes: Uint8Array, mediaType: LogoMediaType): Promise<Logo> {
    return await this.store(workspaceNo, await this.#options.tasks.cleanLogo(bytes, mediaType));
  }

  /**
   * Draws a file for the pages of its workspace; stores nothing. @returns a data URL
   * @throws Failure validation_failed, overloaded
   */
  async drawForBrand(bytes: Uint8Array, mediaType: LogoMediaType): Promise<string> {
    const drawn = await this.#options.tasks.drawBrandLogo(bytes, mediaType);
    return `data:image/webp;base64,${Buffer.from(drawn).toString('base64')}`;
  }

  /** Stores a cleaned logo. @throws Failure conflict, storage_full */
  async store(workspaceNo: WorkspaceNo, { png, width, height }: LogoImage): Promise<Logo> {
    const { store, clock } = this.#options;
    const { logos, owners, files } = store.logos;
    const name = nameOf(png);
    await store.environment.transaction(() => {
      const isNew = !logos.has([workspaceNo, name]);
      const surplus = isNew ? this.#surplus(workspaceNo) : [];
      // Replaces a damaged picture too.
      if (files.get(name, () => undefined) === undefined) files.put(name, png);
      if (!isNew) return;
      logos.put([workspaceNo, name], {
        width,
        height,
        bytes: png.length,
        createdAtMs: clock.now(),
      });
      owners.put([name, workspaceNo], 1);
      for (const other of surplus) {
        logos.remove([workspaceNo, other]);
        owners.remove([other, workspaceNo]);
        if (!this.#isOwned(other)) files.remove(other);
      }
    });
    const logo = this.find(workspaceNo, `logo:${name}`);
    if (logo === undefined) throw new Error(`Cannot find logo ${name}: it was just stored`);
    return logo;
  }

  /** Undefined also for another workspace's logo. */
  find(workspaceNo: WorkspaceNo, id: string): Logo | undefined {
    const name = id.replace(/^logo:/, '');
    const stored = this.#options.store.logos.logos.get([workspaceNo, name]);
    return stored && this.#view(workspaceNo, name, stored);
  }

  /** Newest first. */
  list(workspaceNo: WorkspaceNo): Logo[] {
    return this.#all(workspaceNo)
      .map(([name, stored]) => this.#view(workspaceNo, name, stored))
      .toSorted(
        (one, other) => other.createdAtMs - one.createdAtMs || (one.id < other.id ? -1 : 1),
      );
  }

  /** The picture of a logo, by its id or name. @throws Error if it is missing, Failure data_damaged */
  picture(id: string): LogoImage {
    const name = id.replace(/^logo:/, '');
    const bytes = this.#options.store.logos.files.get(name);
    if (bytes === undefined) throw new Error(`Cannot read logo ${name}: its picture is missing`);
    const png = Uint8Array.from(bytes);
    const view = new DataView(png.buffer);
    return { png, width: view.getUint32(headerStart), height: view.getUint32(headerStart + 4) };
  }

  /** Names to prune before one more is stored; inside the transaction. @throws Failure conflict */
  #surplus(workspaceNo: WorkspaceNo): string[] {
    const all = this.#all(workspaceNo);
    const surplus = all.length + 1 - logosMax;
    if (surplus <= 0) return [];
    const oldMs = this.#options.clock.now() - dayMs;
    const unused = all
      .filter(
        ([name, { createdAtMs }]) => createdAtMs < oldMs && this.#uses(workspaceNo, name) === 0,
      )
      .toSorted(([, one], [, other]) => one.createdAtMs - other.createdAtMs)
      .map(([name]) => name);
    if (unused.length >= surplus) return unused.slice(0, surplus);
    throw new Failure(
      'conflict',
      `The workspace has ${all.length} logos, of at most ${logosMax}, in use or uploaded today`,
    );
  }

  #all(workspaceNo: WorkspaceNo): Array<[name: string, stored: StoredLogo]> {
    const { logos } = this.#options.store.logos;
    const found: Array<[string, StoredLogo]> = [];
    // Names are hexadecimal digits, which all sort before "g".
    for (const { key, value } of logos.range({
      start: [workspaceNo, ''],
      end: [workspaceNo, 'g'],
    })) {
      found.push([key[1], value]);
    }
    return found;
  }

  #isOwned(name: string): boolean {
    const [first] = this.#options.store.logos.owners.keys({ start: [name, 0], limit: 1 });
    return first?.[0] === name;
  }

  #uses(workspaceNo: WorkspaceNo, name: string): number {
    const range = termRange(workspaceNo, { kind: 'logo', text: `logo:${name}` });
    return this.#options.store.codeTerms.count(range);
  }

  #view(workspaceNo: WorkspaceNo, name: string, stored: StoredLogo): Logo {
    return { ...stored, id: `logo:${name}`, codes: this.#uses(workspaceNo, name) };
  }
}

/** The id of a picture in designs, whether it is stored or not. */
export const logoId = (png: Uint8Array): string => `logo:${nameOf(png)}`;

const nameOf = (png: Uint8Array): string =>
  createHash('sha256').update(png).digest('hex').slice(0, nameDigits);
