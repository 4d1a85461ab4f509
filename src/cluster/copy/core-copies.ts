/**
 * The copies that a core gives to others: `GET /cluster/copy`, one at a time.
 *
 *   asked ──▶ a thread makes the copy in cache/core-copy-<pid> ──▶ manifest, bytes ──▶ the copy is removed
 *             (a line each second, copy-manifest.ts)
 *
 * The copy is removed as well when the reader goes, reads too slowly, or the core ends; what a core that was killed has
 * left is removed at its next start. `cache` is no part of a backup.
 */
import { createReadStream, existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { makeFolder, type DataFolder } from '../../engine/data-folder.ts';
import type { Reply } from '../../http/request.ts';
import { Failure, messageOf } from '../../model/failure.ts';
import { shipped } from '../../shipped.ts';
import type { Logger } from '../../telemetry/log.ts';
import { threadStart } from '../../workers/thread-sources.ts';
import type { CoreCopyMessage, CoreCopySetup } from './core-copy-thread.ts';
import { type CopyManifest, copyVersion, encodeCopyLine } from './copy-manifest.ts';

const draftPrefix = 'core-copy-';
const lineMs = 1_000;
const pieceBytes = 1_048_576;
/** A reader has so long, and a second more for each of these bytes: a line of 8 Mbit/s. */
const readMsMax = 600_000;
const bytesPerSecondMin = 1_048_576;
const busySeconds = 10;

export interface CoreCopiesOptions {
  readonly folder: DataFolder;
  readonly cluster: () => string;
  readonly log: Logger;
}

export class CoreCopies {
  readonly #options: CoreCopiesOptions;
  #open: CoreCopy | undefined;
  #isClosed = false;

  /** The data folder must be this process's own. */
  constructor(options: CoreCopiesOptions) {
    this.#options = options;
    const { cacheRoot } = options.folder;
    const left = existsSync(cacheRoot) ? readdirSync(cacheRoot) : [];
    for (const name of left) {
      if (name.startsWith(draftPrefix)) remove(join(cacheRoot, name));
    }
  }

  /** @throws Failure overloaded while another core copies */
  reply(): Reply {
    if (this.#open !== undefined || this.#isClosed) throw busy();
    const headers = {
      'Content-Type': 'application/octet-stream',
      'Cache-Control': 'no-store',
      'X-Accel-Buffering': 'no',
    };
    // Begun at its first pull: an answer that is never pulled is not ended either.
    const begin = (): AsyncIterator<Uint8Array> => iteratorOf(() => this.#begin());
    return { status: 200, headers, body: { [Symbol.asyncIterator]: begin } };
  }

  /** Answers under way are cut off: their readers ask again. */
  async cut(): Promise<void> {
    await this.#open?.end();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.cut();
  }

  #begin(): CoreCopy {
    if (this.#open !== undefined || this.#isClosed) throw busy();
    const copy = new CoreCopy(this.#options, () => {
      this.#open = undefined;
    });
    this.#open = copy;
    return copy;
  }
}

const busy = (): Failure =>
  new Failure('overloaded', 'This core is copied by another one now, or stops', {
    retryAfterSeconds: busySeconds,
  });

/** `return` is called when the reader has left, also while a `next` waits. */
function iteratorOf(begin: () => CoreCopy): AsyncIterator<Uint8Array> {
  let copy: CoreCopy | undefined;
  let pieces: AsyncGenerator<Uint8Array, undefined> | undefined;
  return {
    next: async () => {
      copy ??= begin();
      pieces ??= copy.pieces();
      return await pieces.next();
    },
    return: async () => {
      await copy?.end();
      return { done: true, value: undefined };
    },
  };
}

/** One answer. */
class CoreCopy {
  readonly #options: CoreCopiesOptions;
  readonly #onEnd: () => void;
  readonly #draft: string;
  readonly #ending = new AbortController();
  #making: Making | undefined;
  #late: NodeJS.Timeout | undefined;
  #ended: Promise<void> | undefined;

  constructor(options: CoreCopiesOptions, onEnd: () => void) {
    this.#options = options;
    this.#onEnd = onEnd;
    this.#draft = join(options.folder.cacheRoot, `${draftPrefix}${process.pid}`);
  }

  /** Resolves when nothing is left of it. */
  end(): Promise<void> {
    this.#ending.abort();
    this.#ended ??= this.#end();
    return this.#ended;
  }

  async #end(): Promise<void> {
    clearTimeout(this.#late);
    await this.#making?.stop();
    remove(this.#draft);
    this.#onEnd();
  }

  async *pieces(): AsyncGenerator<Uint8Array, undefined> {
    const { log } = this.#options;
    try {
      const made = yield* this.#make();
      if (made === undefined) return;
      const bytes = made.files.reduce((sum, file) => sum + file.bytes, 0);
      log.info({ bytes, files: made.files.length }, 'another core copies the data of this one');
      const late = (): void => {
        log.warn('another core reads too slowly, its copy is cut off');
        void this.end();
      };
      this.#late = setTimeout(late, readMsMax + (bytes / bytesPerSecondMin) * 1_000);
      yield* this.#send(made);
    } finally {
      await this.end();
    }
  }

  /** @returns undefined where it cannot be made, which the reader is told */
  async *#make(): AsyncGenerator<Uint8Array, CopyManifest | undefined> {
    const { folder, cluster, log } = this.#options;
    try {
      remove(this.#draft);
      makeFolder(folder.cacheRoot);
      this.#making = new Making({ path: folder.path, draft: this.#draft });
      let made: Awaited<Making['made']> | undefined;
      while (made === undefined) {
        const { signal } = this.#ending;
        const again = pause(lineMs, undefined, { signal });
        made = await Promise.race([this.#making.made, again]);
        if (made === undefined) yield encodeCopyLine({ kind: 'copying', ...this.#making.progress });
      }
      const manifest = { version: copyVersion, cluster: cluster(), ...made };
      yield encodeCopyLine({ kind: 'manifest', manifest });
      return manifest;
    } catch (error) {
      if (this.#ending.signal.aborted) return undefined;
      const detail = messageOf(error);
      log.error({ reason: detail }, 'this core could not be copied for another one');
      yield encodeCopyLine({ kind: 'failed', detail });
      return undefined;
    }
  }

  async *#send({ files }: CopyManifest): AsyncGenerator<Uint8Array> {
    const { signal } = this.#ending;
    for (const { name, bytes } of files) {
      if (bytes === 0) continue;
      const path = join(this.#draft, name);
      yield* createReadStream(path, { highWaterMark: pieceBytes, signal });
    }
  }
}

/** The thread that makes the copy. */
class Making {
  readonly #worker: Worker;
  readonly #exited: Promise<unknown>;
  readonly made: Promise<Pick<CopyManifest, 'data' | 'files'>>;
  progress = { bytes: 0, of: 0 };

  constructor(setup: CoreCopySetup) {
    const { file, argv } = threadStart(shipped.workerFile('core-copy'));
    const worker = new Worker(file, { workerData: setup, argv });
    this.#worker = worker;
    this.#exited = new Promise((resolve) => worker.once('exit', resolve));
    this.made = new Promise((resolve, reject) => {
      worker.on('message', (message: CoreCopyMessage) => {
        if (message.kind === 'made') resolve({ data: message.data, files: message.files });
        else if (message.kind === 'failed') reject(new Error(message.detail));
        else this.progress = { bytes: message.bytes, of: message.of };
      });
      worker.once('error', reject);
      worker.once('exit', () => reject(new Error('the thread that copies has ended')));
    });
    this.made.catch(() => undefined);
  }

  async stop(): Promise<void> {
    this.#worker.postMessage('stop');
    await this.#exited;
  }
}

function remove(draft: string): void {
  try {
    rmSync(draft, { recursive: true, force: true });
  } catch {
    // The next start tries again.
  }
}
