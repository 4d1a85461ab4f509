/**
 * The copies that a core gives to others: `GET /cluster/copy`, one at a time.
 *
 *   asked ──▶ a thread makes the copy in cache/core-copy ──▶ manifest, bytes ──▶ the copy is removed
 *             (an empty line each second, copy-download.ts)
 *
 * The copy is removed as well when the reader goes, or the core ends; what a core that was killed has left is removed at its
 * next start. A backup leaves `cache` out. It has no keys: they come as rows of management.mdb, encrypted (nodes/secrets.ts).
 * Results of attempts that delivery.mdb lacks are left out: this core commits them.
 */
import { createReadStream, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { type CopiedFile, sizeOf } from '../../app/folder/backup/copy-files.ts';
import { ownVersions } from '../../app/folder/backup/manifest.ts';
import { runInThread } from '../../app/commands/folder-thread.ts';
import { makeFolder, type DataFolder } from '../../app/folder/data-folder.ts';
import type { Reply } from '../../platform/uws/request.ts';
import { Failure } from '../../model/failure.ts';
import type { Logger } from '../../platform/log.ts';
import { syncJournals } from '../scans/received-positions.ts';
import { type CopyManifest, copyVersion } from './copy-download.ts';

/** Between two empty lines: the reader gives up after 15 s without any. */
const lineMs = 1_000;
const pieceBytes = 1_048_576;
const busySeconds = 10;

export interface CopySenderOptions {
  readonly folder: DataFolder;
  /** Id of the cluster. */
  readonly cluster: () => string;
  /** Why this core no longer follows the cluster's log; undefined where it does. */
  readonly stopped: () => string | undefined;
  readonly log: Logger;
}

interface OpenCopy {
  readonly ending: AbortController;
  /** Resolves when its files are removed. */
  readonly ended: Promise<void>;
}

export class CopySender {
  readonly #options: CopySenderOptions;
  readonly #draft: string;
  #open: OpenCopy | undefined;
  #isClosed = false;

  /** The data folder must be this process's own. */
  constructor(options: CopySenderOptions) {
    this.#options = options;
    this.#draft = join(options.folder.cacheRoot, 'core-copy');
    this.#remove();
  }

  /** @throws Failure not_active where the data is not that of the log; overloaded while another core copies */
  reply(): Reply {
    const stopped = this.#options.stopped();
    if (stopped !== undefined) {
      throw new Failure(
        'not_active',
        `This core gives no copy: it no longer follows the cluster (${stopped})`,
        { retryAfterSeconds: busySeconds },
      );
    }
    this.#assertFree();
    const headers = {
      'Content-Type': 'application/octet-stream',
      'Cache-Control': 'no-store',
      'X-Accel-Buffering': 'no',
    };
    // Begins with its first pull: an answer that is never pulled never ends.
    return { status: 200, headers, body: this.#pieces() };
  }

  /** The answer under way is cut off: its reader asks again. */
  cut(): void {
    this.#open?.ending.abort();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.cut();
    await this.#open?.ended;
  }

  #assertFree(): void {
    if (this.#open === undefined && !this.#isClosed) return;
    throw new Failure('overloaded', 'This core is copied by another one now, or stops', {
      retryAfterSeconds: busySeconds,
    });
  }

  async *#pieces(): AsyncGenerator<Uint8Array, undefined> {
    this.#assertFree();
    const ending = new AbortController();
    const { signal } = ending;
    const { promise: ended, resolve } = Promise.withResolvers<void>();
    this.#open = { ending, ended };
    const making = this.#make(signal);
    making.catch(() => undefined);
    try {
      let files: readonly CopiedFile[] | undefined;
      while (files === undefined) {
        files = await Promise.race([making, pause(lineMs, undefined, { signal })]);
        if (files === undefined) yield Buffer.from('\n');
      }
      yield* this.#send(files, signal);
    } finally {
      ending.abort();
      await making.catch(() => undefined);
      this.#remove();
      this.#open = undefined;
      resolve();
    }
  }

  async #make(signal: AbortSignal): Promise<readonly CopiedFile[]> {
    const { folder, log } = this.#options;
    try {
      this.#remove();
      makeFolder(folder.cacheRoot);
      const control = { progress: () => undefined, signal };
      const files = await runInThread(folder, { kind: 'copy', draft: this.#draft }, control);
      await syncJournals(folder.journalRoot);
      log.info(
        { bytes: sizeOf(files), files: files.length },
        'another core copies the data of this one',
      );
      return files;
    } catch (err) {
      if (!signal.aborted) log.error({ err }, 'this core could not be copied for another one');
      throw err;
    }
  }

  async *#send(files: readonly CopiedFile[], signal: AbortSignal): AsyncGenerator<Uint8Array> {
    const cluster = this.#options.cluster();
    const manifest: CopyManifest = { version: copyVersion, cluster, data: ownVersions(), files };
    yield Buffer.from(`${JSON.stringify(manifest)}\n`);
    for (const { name, bytes } of files) {
      if (bytes === 0) continue;
      const path = join(this.#draft, name);
      yield* createReadStream(path, { highWaterMark: pieceBytes, signal });
    }
  }

  #remove(): void {
    try {
      rmSync(this.#draft, { recursive: true, force: true });
    } catch {
      // The next copy tries again.
    }
  }
}
