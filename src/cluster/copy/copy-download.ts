/** The data of another core comes over HTTP (copy-manifest.ts) into a folder: each file with its size and hash, and synced. */
import { join } from 'node:path';
import { Agent, request } from 'undici';
import {
  assertSpace,
  type CopiedFile,
  type CopyProgress,
  writePieces,
} from '../../engine/backup/copy-files.ts';
import { newer } from '../../engine/backup/manifest.ts';
import { systemReason } from '../../engine/backup/system-reason.ts';
import { DataFolderError } from '../../engine/data-folder.ts';
import { messageOf } from '../../model/failure.ts';
import { parseJson } from '../../engine/small-files.ts';
import type { MachineProof } from '../machine-proof.ts';
import { type CopyManifest, readCopyLine } from './copy-manifest.ts';

export const copyPath = '/cluster/copy';

const connectMsMax = 2_000;
const answerMsMax = 10_000;
/** The other core sends a line each second while it copies. */
const silentMsMax = 15_000;
/** A manifest of 65,536 journals with four segments each. */
const lineBytesMax = 67_108_864;

export interface FetchOptions {
  /** Address of the core's API. */
  readonly core: string;
  readonly proof: Pick<MachineProof, 'headersOf'>;
  /** Id of the cluster that it must be of. */
  readonly cluster: string;
  /** Where the files go: a folder that is there. */
  readonly draft: string;
  readonly progress: CopyProgress;
  readonly signal: AbortSignal;
}

/** The data of the core was written by a newer program than this one. */
export class NewerCopyError extends Error {
  override readonly name = 'NewerCopyError';
}

/** @throws DataFolderError of this disk; NewerCopyError; Error of the other core, of the line, or for bytes that are not those */
export async function fetchCopy(options: FetchOptions): Promise<CopyManifest> {
  const { core, proof, draft, progress, signal } = options;
  const dispatcher = new Agent({
    connect: { timeout: connectMsMax },
    headersTimeout: answerMsMax,
    bodyTimeout: silentMsMax,
  });
  try {
    const headers = proof.headersOf({ method: 'GET', path: copyPath });
    const { statusCode, body } = await request(core + copyPath, { dispatcher, headers, signal });
    if (statusCode !== 200) throw new Error(refusalOf(statusCode, await body.text()));
    const incoming = new Incoming(body[Symbol.asyncIterator]());
    const manifest = await readManifest(incoming);
    assertAccepted(manifest, options);
    const bytes = manifest.files.reduce((sum, file) => sum + file.bytes, 0);
    assertSpace(draft, bytes, 'copy the data of another core');
    progress.begin(bytes);
    for (const file of manifest.files) await receive(incoming, file, options);
    return manifest;
  } finally {
    await dispatcher.destroy();
  }
}

function refusalOf(status: number, text: string): string {
  const detail: unknown = Reflect.get(Object(parseJson(text)), 'detail');
  return typeof detail === 'string' ? detail : `it answers ${status}`;
}

async function readManifest(incoming: Incoming): Promise<CopyManifest> {
  for (;;) {
    const line = readCopyLine(await incoming.line());
    if (line.kind === 'failed') throw new Error(line.detail);
    if (line.kind === 'manifest') return line.manifest;
  }
}

function assertAccepted({ cluster, data }: CopyManifest, options: FetchOptions): void {
  if (cluster !== options.cluster) {
    throw new Error(`it is of the cluster ${cluster}, expected ${options.cluster}`);
  }
  const faults = newer(data);
  if (faults.length > 0) throw new NewerCopyError(faults.join('; '));
}

async function receive(
  incoming: Incoming,
  { name, bytes, sha256 }: CopiedFile,
  { draft, progress }: FetchOptions,
): Promise<void> {
  const copied = await onDisk(() =>
    writePieces(join(draft, name), incoming.take(bytes), (more) => progress.add(more)),
  );
  if (copied.sha256 !== sha256) {
    throw new Error(`${name} came damaged: its bytes are not those of the list`);
  }
  progress.file(name, bytes);
}

/** What this disk refuses is not the other core's fault. @throws DataFolderError */
export async function onDisk<T>(work: () => T | Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const reason = systemReason(error);
    if (reason === undefined) throw error;
    throw new DataFolderError(
      `Cannot copy the data of another core: ${reason}; nothing was kept, the next start begins again`,
    );
  }
}

/** Lines, and then as many bytes as are asked for. */
class Incoming {
  readonly #source: AsyncIterator<Uint8Array>;
  #rest: Uint8Array = new Uint8Array(0);

  constructor(source: AsyncIterator<Uint8Array>) {
    this.#source = source;
  }

  async line(): Promise<string> {
    const parts: Uint8Array[] = [];
    let length = 0;
    for (;;) {
      const piece = await this.#next();
      const end = piece.indexOf(0x0a);
      parts.push(end === -1 ? piece : piece.subarray(0, end));
      if (end !== -1) {
        this.#rest = piece.subarray(end + 1);
        return Buffer.concat(parts).toString('utf8');
      }
      length += piece.length;
      if (length > lineBytesMax) throw new Error('it sends a line without an end');
    }
  }

  async *take(bytes: number): AsyncGenerator<Uint8Array> {
    for (let left = bytes; left > 0;) {
      const piece = await this.#next();
      const taken = piece.subarray(0, left);
      this.#rest = piece.subarray(taken.length);
      left -= taken.length;
      yield taken;
    }
  }

  /** @throws Error where nothing more comes */
  async #next(): Promise<Uint8Array> {
    if (this.#rest.length > 0) {
      const rest = this.#rest;
      this.#rest = new Uint8Array(0);
      return rest;
    }
    const { value, done } = await this.#source.next().catch((error: unknown) => {
      // Without the system's code, which would be taken for one of this disk.
      throw new Error(messageOf(error));
    });
    if (done === true) throw new Error('its answer ended before the copy did');
    return value;
  }
}
