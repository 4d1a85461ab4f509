/**
 * The data of another core comes over HTTP into a folder: each file with its size and hash, and synced.
 *
 *   an empty line                              once a second, while the copy is made
 *   {"version", "cluster", "data", "files"}    the manifest; the bytes of the files follow, in its order
 *
 * The answer has a status before the copy exists, so that a core with gigabytes does not seem gone.
 */
import { join } from 'node:path';
import { Agent, request } from 'undici';
import {
  assertSpace,
  type CopiedFile,
  type CopyProgress,
  sizeOf,
  writePieces,
} from '../../app/folder/backup/copy-files.ts';
import {
  dataVersions,
  filesOf,
  type Manifest,
  newer,
  numbersOf,
} from '../../app/folder/backup/manifest.ts';
import { systemReason } from '../../app/folder/system-reason.ts';
import { DataFolderError } from '../../app/folder/data-folder.ts';
import { messageOf } from '../../model/failure.ts';
import { textAt } from '../../model/json.ts';
import { parseJson } from '../../platform/small-files.ts';
import type { MachineProof } from '../machine-proof.ts';

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

export const copyVersion = 1;

export interface CopyManifest extends Manifest {
  readonly version: number;
  /** Id of the cluster. */
  readonly cluster: string;
}

/** @throws DataFolderError of this disk; Error of the other core, of the line, or for bytes that are not those */
export async function fetchCopy(options: FetchOptions): Promise<void> {
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
    let line = '';
    while (line === '') line = await incoming.line();
    const files = readManifest(line, options.cluster);
    const bytes = sizeOf(files);
    assertSpace(draft, bytes, 'copy the data of another core');
    progress.begin(bytes);
    for (const file of files) await receive(incoming, file, options);
  } finally {
    await dispatcher.destroy();
  }
}

/** Why another core refuses a request: the detail of its answer, or its status. */
export const refusalOf = (status: number, text: string): string =>
  textAt(parseJson(text), 'detail') ?? `It answers ${status}`;

/** @throws Error for any other text, another version or cluster, and data of a newer program */
function readManifest(text: string, cluster: string): readonly CopiedFile[] {
  const content = parseJson(text);
  const field = (name: string): unknown => Reflect.get(Object(content), name);
  const assertIs = (what: string, found: unknown, expected: string | number): void => {
    if (found !== expected) throw new Error(`${what} ${String(found)}, expected ${expected}`);
  };
  assertIs('it sends a copy of version', field('version'), copyVersion);
  assertIs('it is of the cluster', field('cluster'), cluster);
  const faults = newer(numbersOf(field('data')));
  if (faults.length > 0) throw new Error(faults.join('; '));
  const files = filesOf(field('files'));
  if (files === undefined) throw new Error('its list of files is not valid');
  const names = new Set(files.map(({ name }) => name));
  const missing = [...dataVersions.keys()].filter((name) => !names.has(name));
  if (missing.length > 0) throw new Error(`it sends no ${missing.join(', ')}`);
  const other = files.find(({ name }) => !isPart(name));
  if (other === undefined) return files;
  throw new Error(`it sends ${other.name}, which does not belong to a copy`);
}

/** A core takes nothing else from another one. */
const isPart = (name: string): boolean =>
  dataVersions.has(name) || /^journal\/\d{1,5}\/[^/]+\.log$/.test(name);

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

/** @throws DataFolderError for errors of this disk, which are not the other core's fault */
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
