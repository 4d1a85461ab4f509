/**
 * The logos of workspaces: uploaded once, used by the designs of any number of codes.
 *
 *   bytes --> pool: cleaned --> logo store (file, named by its content) --> row of the workspace
 *
 * The file is written before the row, so a row always has its file. A file without a row is reused by the
 * next upload of the same picture. A workspace at its limit loses its oldest logos that no code uses, once
 * they are a day old: a fresh upload stays until the code that it is meant for is created.
 */
import pLimit from 'p-limit';
import type { Clock } from '../../model/clock.ts';
import { dayMs } from '../../model/day.ts';
import { Failure } from '../../model/failure.ts';
import { termCountKey } from '../../store/management/code-keys.ts';
import type { StoredLogo } from '../../store/management/product-tables.ts';
import type { Management } from '../../store/management/management.ts';
import type { LogoMediaType } from '../formats.ts';
import type { LogoStore } from './logo-store.ts';
import type { LogoImage } from '../draw/picture.ts';
import type { ImageTasks } from '../tasks.ts';
import type { WorkspaceNo } from '../../model/numbers.ts';

/** At most 200 MB per workspace on disk. */
const logosMax = 200;

export interface Logo extends StoredLogo {
  /** `logo:<name>`, as a design has it. */
  readonly id: string;
  /** Live codes whose design has it. */
  readonly codes: number;
}

export interface LogosOptions {
  readonly store: Management;
  readonly clock: Clock;
  readonly logoStore: LogoStore;
  readonly tasks: Pick<ImageTasks, 'cleanLogo' | 'drawBrandLogo'>;
}

export class Logos {
  readonly #options: LogosOptions;
  /** A lock: no file may be deleted between the check that it exists and its row. */
  readonly #lock = pLimit(1);

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
   * A file as the pages of its workspace carry it, and nothing of it here. @returns a data URL
   * @throws Failure validation_failed, overloaded
   */
  async drawForBrand(bytes: Uint8Array, mediaType: LogoMediaType): Promise<string> {
    const drawn = await this.#options.tasks.drawBrandLogo(bytes, mediaType);
    return `data:image/webp;base64,${Buffer.from(drawn).toString('base64')}`;
  }

  /** Stores a cleaned logo. @throws Failure conflict, storage_full */
  async store(workspaceNo: WorkspaceNo, logo: LogoImage): Promise<Logo> {
    return await this.#lock(() => this.#store(workspaceNo, logo));
  }

  async #store(workspaceNo: WorkspaceNo, { png, width, height }: LogoImage): Promise<Logo> {
    const { store, logoStore, clock } = this.#options;
    const { logos, owners } = store.logos;
    const name = await logoStore.put(png);
    const orphans = await store.environment.transaction(() => {
      if (logos.has([workspaceNo, name])) return [];
      const surplus = this.#surplus(workspaceNo);
      const createdAtMs = clock.now();
      logos.put([workspaceNo, name], { width, height, bytes: png.length, createdAtMs });
      owners.put([name, workspaceNo], 1);
      for (const other of surplus) {
        logos.remove([workspaceNo, other]);
        owners.remove([other, workspaceNo]);
      }
      return surplus;
    });
    for (const other of orphans) {
      if (!this.#isOwned(other)) await logoStore.delete(other);
    }
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

  /** The picture of a logo, by its id or name. @throws Error when its file is missing or damaged */
  async picture(id: string): Promise<LogoImage> {
    return await this.#options.logoStore.get(id.replace(/^logo:/, ''));
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
    const key = termCountKey(workspaceNo, { kind: 'logo', text: `logo:${name}` });
    return this.#options.store.termCounts.get(key) ?? 0;
  }

  #view(workspaceNo: WorkspaceNo, name: string, stored: StoredLogo): Logo {
    return { ...stored, id: `logo:${name}`, codes: this.#uses(workspaceNo, name) };
  }
}
