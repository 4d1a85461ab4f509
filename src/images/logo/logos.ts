/**
 * The logos of workspaces: uploaded once, used by the designs of any number of codes.
 *
 *   bytes --> pool: made harmless --> shelf (file, named by its content) --> row of the workspace
 *
 * The file comes before the row, so a row always has its file; a file without a row is a picture that
 * the next upload of the same finds. Nobody has to tidy up: a workspace at its bound loses its oldest
 * logos that no code has used, once they are a day old, so that none goes between its upload and the code
 * that it was uploaded for.
 */
import type { Clock } from '../../model/clock.ts';
import { dayMs } from '../../model/day.ts';
import { Failure } from '../../model/failure.ts';
import { termCountKey } from '../../store/management/code-keys.ts';
import type { StoredLogo } from '../../store/management/logos.ts';
import type { Management } from '../../store/management/management.ts';
import type { LogoMediaType } from './logo.ts';
import type { LogoStore } from './logo-store.ts';
import type { LogoImage } from '../draw/picture.ts';

/** At most 200 MB of a workspace on the disk. */
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
  readonly shelf: LogoStore;
  /** Makes a file harmless, in the pool. */
  readonly clean: (bytes: Uint8Array, mediaType: LogoMediaType) => Promise<LogoImage>;
}

export class Logos {
  readonly #options: LogosOptions;
  /** One at a time: no file may go between another's finding it there and its row. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(options: LogosOptions) {
    this.#options = options;
  }

  /**
   * Stores a file; one that the workspace has already is the same logo.
   * @throws Failure validation_failed, conflict (too many in use), overloaded, storage_full
   */
  async add(workspaceNo: number, bytes: Uint8Array, mediaType: LogoMediaType): Promise<Logo> {
    return await this.keep(workspaceNo, await this.#options.clean(bytes, mediaType));
  }

  /** Stores a picture that was made harmless already. @throws Failure conflict, storage_full */
  async keep(workspaceNo: number, logo: LogoImage): Promise<Logo> {
    const kept = this.#turn.then(() => this.#keep(workspaceNo, logo));
    this.#turn = kept.catch(() => undefined);
    return await kept;
  }

  async #keep(workspaceNo: number, { png, width, height }: LogoImage): Promise<Logo> {
    const { store, shelf, clock } = this.#options;
    const { logos, owners } = store.logos;
    const name = await shelf.put(png);
    const orphans = await store.environment.transaction(() => {
      if (logos.has([workspaceNo, name])) return [];
      const leaving = this.#leaving(workspaceNo);
      const createdAtMs = clock.now();
      logos.put([workspaceNo, name], { width, height, bytes: png.length, createdAtMs });
      owners.put([name, workspaceNo], 1);
      for (const other of leaving) {
        logos.remove([workspaceNo, other]);
        owners.remove([other, workspaceNo]);
      }
      return leaving;
    });
    for (const other of orphans) {
      if (this.#isOwned(other)) continue;
      await shelf.remove(other);
    }
    const logo = this.find(workspaceNo, `logo:${name}`);
    if (logo === undefined) throw new Error(`Cannot find logo ${name}: it was just stored`);
    return logo;
  }

  /** Undefined also when it is another workspace's. */
  find(workspaceNo: number, id: string): Logo | undefined {
    const name = id.replace(/^logo:/, '');
    const stored = this.#options.store.logos.logos.get([workspaceNo, name]);
    return stored && this.#view(workspaceNo, name, stored);
  }

  /** Newest first. */
  list(workspaceNo: number): Logo[] {
    return this.#all(workspaceNo)
      .map(([name, stored]) => this.#view(workspaceNo, name, stored))
      .toSorted(
        (one, other) => other.createdAtMs - one.createdAtMs || (one.id < other.id ? -1 : 1),
      );
  }

  /** The picture of a logo, by its id or name. @throws Error when its file is gone or damaged */
  async picture(id: string): Promise<LogoImage> {
    return await this.#options.shelf.get(id.replace(/^logo:/, ''));
  }

  /** Names that make room for one more; inside the transaction. @throws Failure conflict */
  #leaving(workspaceNo: number): string[] {
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

  #all(workspaceNo: number): Array<[name: string, stored: StoredLogo]> {
    const { logos } = this.#options.store.logos;
    const found: Array<[string, StoredLogo]> = [];
    // Names are hexadecimal digits: nothing comes after "g".
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

  #uses(workspaceNo: number, name: string): number {
    const key = termCountKey(workspaceNo, { kind: 'logo', text: `logo:${name}` });
    return this.#options.store.termCounts.get(key) ?? 0;
  }

  #view(workspaceNo: number, name: string, stored: StoredLogo): Logo {
    return { ...stored, id: `logo:${name}`, codes: this.#uses(workspaceNo, name) };
  }
}
