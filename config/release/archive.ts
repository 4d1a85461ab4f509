/**
 * The two containers that packages are made of, always the same bytes from the same content:
 *
 *   tar   entries sorted by path, parent folders added, one time for all, owners as numbers. Read and written by
 *         tar-stream. Paths and links that need more than a plain ustar header are refused: dpkg reads no other.
 *   ar    the outer file of a .deb: a line, then members of a 60-byte header and their bytes, padded to even.
 */
import { basename } from 'node:path';
import { extract, pack } from 'tar-stream';

interface Owned {
  /** Relative to the root of the archive, without `./` before or `/` behind: `usr/bin/quietzone`. */
  readonly path: string;
  readonly mode: number;
  /** User and group, as a number; root when it is not given. */
  readonly owner?: number;
}

export type FileEntry = Owned & { readonly type: 'file'; readonly content: Uint8Array };
export type Entry =
  | FileEntry
  | (Owned & { readonly type: 'folder' })
  | (Owned & { readonly type: 'link'; readonly target: string });

export function fileEntry(path: string, mode: number, content: string | Uint8Array): FileEntry {
  return { type: 'file', path, mode, content: Buffer.from(content) };
}

export interface TarOptions {
  /** Of every entry; whole seconds. */
  readonly time: Date;
  /** Written before each path. Debian packages have `./`, images nothing. */
  readonly prefix?: './';
}

/** What a ustar header holds: the first folders in a field of their own, a name with the slash of a folder, a target. */
const pathBytesMax = 150;
const nameBytesMax = 99;
const linkBytesMax = 100;

/** @throws Error for a path given twice, one that leaves the archive, or one longer than ustar holds */
export async function writeTar(entries: readonly Entry[], options: TarOptions): Promise<Buffer> {
  const { time, prefix = '' } = options;
  const stream = pack();
  if (prefix !== '') {
    stream.entry({ name: prefix, type: 'directory', mode: 0o755, mtime: time });
  }
  for (const entry of complete(entries)) {
    const header = {
      name: `${prefix}${entry.path}${entry.type === 'folder' ? '/' : ''}`,
      mode: entry.mode,
      uid: entry.owner ?? 0,
      gid: entry.owner ?? 0,
      mtime: time,
    };
    checkPath(header.name);
    if (entry.type === 'folder') {
      stream.entry({ ...header, type: 'directory' });
    } else if (entry.type === 'link') {
      checkLink(entry.target);
      stream.entry({ ...header, type: 'symlink', linkname: entry.target });
    } else {
      stream.entry({ ...header, type: 'file' }, Buffer.from(entry.content));
    }
  }
  stream.finalize();
  return await collect(stream);
}

async function collect(stream: AsyncIterable<unknown>): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of stream) {
    if (!(chunk instanceof Uint8Array)) throw new Error('Cannot read a stream: it gives no bytes');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** Sorted, with the folders that entries lie in; a folder comes before what is in it. */
function complete(entries: readonly Entry[]): Entry[] {
  const byPath = new Map<string, Entry>();
  for (const entry of entries) {
    if (entry.path.split('/').some((part) => part === '' || part === '.' || part === '..')) {
      throw new Error(`Cannot pack ${entry.path}: expected a path inside the archive`);
    }
    if (byPath.has(entry.path)) throw new Error(`Cannot pack ${entry.path}: it is given twice`);
    byPath.set(entry.path, entry);
  }
  for (const { path } of entries) {
    const parts = path.split('/');
    for (let depth = 1; depth < parts.length; depth++) {
      const folder = parts.slice(0, depth).join('/');
      const known = byPath.get(folder);
      if (known === undefined) byPath.set(folder, { type: 'folder', path: folder, mode: 0o755 });
      else if (known.type !== 'folder') {
        throw new Error(`Cannot pack ${path}: ${folder} is a ${known.type}, expected a folder`);
      }
    }
  }
  return [...byPath.values()].sort((a, b) => (a.path < b.path ? -1 : 1));
}

function checkLink(target: string): void {
  if (Buffer.byteLength(target) > linkBytesMax) {
    throw new Error(`Cannot pack a link to ${target}: expected at most ${linkBytesMax} bytes`);
  }
}

function checkPath(path: string): void {
  if (Buffer.byteLength(path) > pathBytesMax) {
    throw new Error(`Cannot pack ${path}: expected at most ${pathBytesMax} bytes of path`);
  }
  if (Buffer.byteLength(basename(path)) > nameBytesMax) {
    throw new Error(`Cannot pack ${path}: expected at most ${nameBytesMax} bytes of name`);
  }
}

/** Files, folders and symbolic links, in their order; `./` before paths and `/` behind folders are dropped. */
export async function readTar(bytes: Uint8Array): Promise<Entry[]> {
  const stream = extract();
  const entries: Entry[] = [];
  stream.end(Buffer.from(bytes));
  for await (const entry of stream) {
    const content = await collect(entry);
    const { name, type, mode, uid, linkname } = entry.header;
    const path = name.replace(/^(\.?\/)+/, '').replace(/\/$/, '');
    const owned = { path, mode, owner: uid };
    if (type === 'file') entries.push({ ...owned, type, content });
    else if (type === 'symlink') entries.push({ ...owned, type: 'link', target: linkname ?? '' });
    else if (type === 'directory' && path !== '') entries.push({ ...owned, type: 'folder' });
  }
  return entries;
}

export interface Member {
  /** At most 16 bytes. */
  readonly name: string;
  readonly content: Uint8Array;
}

const magic = '!<arch>\n';
const headerBytes = 60;
const headerEnd = '`\n';

/** @throws Error for a name longer than 16 bytes */
export function writeAr(members: readonly Member[], time: Date): Buffer {
  const seconds = Math.floor(time.getTime() / 1000);
  const parts: Uint8Array[] = [Buffer.from(magic)];
  for (const { name, content } of members) {
    if (name.length > 16) throw new Error(`Cannot pack ${name}: expected at most 16 bytes of name`);
    const fields = [
      name.padEnd(16),
      String(seconds).padEnd(12),
      '0'.padEnd(6),
      '0'.padEnd(6),
      '100644'.padEnd(8),
      String(content.length).padEnd(10),
    ];
    parts.push(Buffer.from(fields.join('') + headerEnd), content);
    if (content.length % 2 === 1) parts.push(Buffer.from('\n'));
  }
  return Buffer.concat(parts);
}

/** @throws Error when the bytes are not an ar archive, or end within a member */
export function readAr(bytes: Buffer): Member[] {
  if (bytes.toString('latin1', 0, magic.length) !== magic) {
    throw new Error('Cannot read the archive: it does not begin like one, expected an ar archive');
  }
  const members: Member[] = [];
  for (let at = magic.length; at < bytes.length;) {
    const header = bytes.toString('latin1', at, at + headerBytes);
    const size = Number.parseInt(header.slice(48, 58), 10);
    const from = at + headerBytes;
    if (!header.endsWith(headerEnd) || from + size > bytes.length) {
      throw new Error(`Cannot read the archive: its member at byte ${at} is cut off or damaged`);
    }
    const name = header.slice(0, 16).trimEnd().replace(/\/$/, '');
    members.push({ name, content: bytes.subarray(from, from + size) });
    at = from + size + (size % 2);
  }
  return members;
}
