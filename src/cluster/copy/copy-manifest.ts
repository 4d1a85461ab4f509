/**
 * What a core sends of itself: lines of JSON, and then the bytes of the files, in the order of the manifest.
 *
 *   {}                                         once a second, while the copy is made
 *   {"failed": "…"}                            the copy cannot be made; nothing follows
 *   {"version", "cluster", "data", "files"}    the manifest; the bytes follow
 *
 * The answer has a status before the copy exists, so that a core with gigabytes does not seem gone.
 */
import type { CopiedFile } from '../../engine/backup/copy-files.ts';
import { dataVersions, filesOf, numbersOf } from '../../engine/backup/manifest.ts';
import { parseJson } from '../../engine/small-files.ts';

export const copyVersion = 1;

export interface CopyManifest {
  readonly version: number;
  /** Id of the cluster. */
  readonly cluster: string;
  /** Data file -> version of its data. */
  readonly data: Readonly<Record<string, number>>;
  readonly files: readonly CopiedFile[];
}

/** What the thread that copies knows of it. */
export type MadeCopy = Pick<CopyManifest, 'data' | 'files'>;

export type CopyLine =
  | { readonly kind: 'copying' }
  | { readonly kind: 'failed'; readonly detail: string }
  | { readonly kind: 'manifest'; readonly manifest: CopyManifest };

export function encodeCopyLine(line: CopyLine): Uint8Array {
  return Buffer.from(`${JSON.stringify(contentOf(line))}\n`);
}

function contentOf(line: CopyLine): object {
  if (line.kind === 'copying') return {};
  return line.kind === 'failed' ? { failed: line.detail } : line.manifest;
}

/** @throws Error for any other text, or another version */
export function readCopyLine(text: string): CopyLine {
  const content = parseJson(text);
  const field = (name: string): unknown => Reflect.get(Object(content), name);
  if (text === '{}') return { kind: 'copying' };
  const failed = field('failed');
  if (typeof failed === 'string') return { kind: 'failed', detail: failed };
  const version = field('version');
  if (version !== copyVersion) {
    throw new Error(`it sends version ${String(version)} of a copy, expected ${copyVersion}`);
  }
  const files = filesOf(field('files'));
  const names = new Set(files?.map(({ name }) => name));
  const missing = [...dataVersions.keys()].filter((name) => !names.has(name));
  if (files === undefined) throw new Error('its list of files is not valid');
  if (missing.length > 0) throw new Error(`it sends no ${missing.join(', ')}`);
  const other = files.find(({ name }) => !isPart(name));
  if (other !== undefined)
    throw new Error(`it sends ${other.name}, which does not belong to a copy`);
  const manifest = {
    version: copyVersion,
    cluster: String(field('cluster')),
    data: numbersOf(field('data')),
    files,
  };
  return { kind: 'manifest', manifest };
}

/** A core takes nothing else from another one. */
const isPart = (name: string): boolean =>
  dataVersions.has(name) || /^journal\/\d{1,5}\/[^/]+\.log$/.test(name);
