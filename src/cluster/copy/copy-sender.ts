/**
 * The copies that a core gives to others: `GET /cluster/copy`, one at a time.
 *
 *   asked ──▶ a thread makes the copy in cache/core-copy-<pid> ──▶ manifest, bytes ──▶ the copy is removed
 *             (a line each second, copy-manifest.ts)
 *
 * The copy is removed as well when the reader goes, reads too slowly, or the core ends; what a core that was killed has
 * left is removed at its next start. A backup leaves `cache` out.
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
import { type CopyManifest, copyVersion, encodeCopyLine, type MadeCopy } from './copy-manifest.ts';

const draftPrefix = 'core-copy-';
/** Between two lines about how far the copy is: the reader gives up after 15 s without any. */
const lineMs = 1_000;
const pieceBytes = 1_048_576;
/** A reader has ten minutes, and the time that 8 Mbit/s take: the draft fills this core's disk meanwhile. */
const readMsMax = 600_000;
const bytesPerSecondMin = 1_048_576;
const busySeconds = 10;

export interface CopySenderOptions {
  readonly folder: DataFolder;
  /** Id of the cluster. */
  readonly cluster: () => string;
  /** Why this core's data is not that of the cluster's log; undefined where it is. */
  readonly diverged: () => string | undefined;
  readonly log: Logger;
}

export class CopySender {
  readonly #options: CopySenderOptions;
  #open: SentCopy | undefined;
  #isClosed = false;

  /** The data folder must be this process's own. */
  constructor(options: CopySenderOptions) {
    this.#options = options;
    const { cacheRoot } = options.folder;
    const left = existsSync(cacheRoot) ? readdirSync(cacheRoot) : [];
    for (const name of left) {
      if (name.startsWith(draftPrefix)) remove(join(cacheRoot, name));
    }
  }

  /** @throws Failure not_active where the data is not that of the log; overloaded while another core copies */
  reply(): Reply {
    const diverged = this.#options.diverged();
    if (diverged !== undefined) {
      throw new Failure(
        'not_active',
        `This core gives no copy: it no longer follows the cluster (${diverged})`,
        { retryAfterSeconds: busySeconds },
      );
    }
    if (this.#open !== undefined || this.#isClosed) throw busy();
    const headers = {
      'Content-Type': 'application/octet-stream',
      'Cache-Control': 'no-store',
      'X-Accel-Buffering': 'no',
    };
    // Begun at its first pull: an answer that is never pulled does not end either.
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

  #begin(): SentCopy {
    if (this.#open !== undefined || this.#isClosed) throw busy();
    const copy = new SentCopy(this.#options, () => {
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
function iteratorOf(begin: () => SentCopy): AsyncIterator<Uint8Array> {
  let copy: SentCopy | undefined;
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

/** One answer, and the draft that it is sent from. */
class SentCopy {
  readonly #options: CopySenderOptions;
  readonly #onEnd: () => void;
  readonly #draft: string;
  readonly #ending = new AbortController();
  #thread: CopyThread | undefined;
  #tooSlow: NodeJS.Timeout | undefined;
  #ended: Promise<void> | undefined;

  constructor(options: CopySenderOptions, onEnd: () => void) {
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
    clearTimeout(this.#tooSlow);
    await this.#thread?.stop();
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
      const cutOff = (): void => {
        log.warn('another core reads too slowly, its copy is cut off');
        void this.end();
      };
      this.#tooSlow = setTimeout(cutOff, readMsMax + (bytes / bytesPerSecondMin) * 1_000);
      yield* this.#send(made);
    } finally {
      await this.end();
    }
  }

  /** @returns undefined if it cannot be made, which a line reports */
  async *#make(): AsyncGenerator<Uint8Array, CopyManifest | undefined> {
    const { folder, cluster, log } = this.#options;
    try {
      remove(this.#draft);
      makeFolder(folder.cacheRoot);
      this.#thread = new CopyThread({ path: folder.path, draft: this.#draft });
      let made: MadeCopy | undefined;
      while (made === undefined) {
        const { signal } = this.#ending;
        const again = pause(lineMs, undefined, { signal });
        made = await Promise.race([this.#thread.made, again]);
        if (made === undefined) yield encodeCopyLine({ kind: 'copying' });
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

export interface CoreCopySetup {
  /** The data folder, and where its copy is made. */
  readonly path: string;
  readonly draft: string;
}

export type CoreCopyMessage =
  | ({ readonly kind: 'made' } & MadeCopy)
  | { readonly kind: 'failed'; readonly detail: string };

/** Copies once, and ends (core-copy.worker.ts). */
class CopyThread {
  readonly #worker: Worker;
  readonly #exited: Promise<unknown>;
  /** Rejects if the copy cannot be made. */
  readonly made: Promise<MadeCopy>;

  constructor(workerData: CoreCopySetup) {
    const worker = new Worker(shipped.workerFile('core-copy'), { workerData });
    this.#worker = worker;
    this.#exited = new Promise((resolve) => worker.once('exit', resolve));
    this.made = new Promise((resolve, reject) => {
      worker.once('message', (message: CoreCopyMessage) => {
        if (message.kind === 'made') resolve({ data: message.data, files: message.files });
        else reject(new Error(message.detail));
      });
      worker.once('error', reject);
      worker.once('exit', () => reject(new Error('the thread that copies has ended')));
    });
    this.made.catch(() => undefined);
  }

  /** Resolves when the thread writes no more. */
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
