/**
 * Images of many codes as one ZIP, written while it is read: for print shops.
 *
 *   entries --> drawn a few ahead --> stored (PNG, WebP) or deflated (SVG, PDF, EPS) --> pieces
 *
 * It takes the memory of the images drawn ahead, however many there are. When the reader stops, drawing
 * stops. An image may fail when the answer has already begun, so failures are listed in a file of the
 * archive. fflate writes no ZIP64: 1,000 images of at most 4 MB stay below its limit of 4 GB.
 */
import { setTimeout as wait } from 'node:timers/promises';
import { Zip, ZipDeflate, ZipPassThrough } from 'fflate';
import { Failure } from '../../model/failure.ts';
import type { ImageRequest } from './formats.ts';

/** Enough to keep a thread of the pool busy while a piece is sent, and never a queue of its own. */
const aheadMax = 2;
/** Waits for a full queue: 100 times 100 ms, the time in which a client gives up. */
const [overloadWaitMs, overloadTriesMax] = [100, 100];
/** Already compressed: deflating them again costs time for nothing. */
const compressed: ReadonlySet<string> = new Set(['png', 'webp']);
const problemsFile = 'NOT-DRAWN.txt';

export interface ArchiveEntry {
  readonly name: string;
  readonly request: ImageRequest;
  readonly changedAtMs: number;
}

type Render = (request: ImageRequest) => Promise<{ readonly bytes: Uint8Array }>;

type Drawn =
  | { readonly entry: ArchiveEntry; readonly bytes: Uint8Array }
  | { readonly entry: ArchiveEntry; readonly error: unknown };

/** @throws Error for a defect of the drawing, in the middle of the archive */
export async function* archiveImages(
  entries: readonly ArchiveEntry[],
  render: Render,
): AsyncGenerator<Uint8Array> {
  const pieces: Uint8Array[] = [];
  const zip = new Zip((error, piece) => {
    if (error !== null) throw error;
    pieces.push(piece);
  });
  const problems: string[] = [];
  for await (const drawn of drawAhead(entries, render)) {
    if ('bytes' in drawn) {
      addFile(zip, drawn.entry.name, drawn.bytes, drawn.entry.changedAtMs);
    } else if (drawn.error instanceof Failure) {
      problems.push(`${drawn.entry.name}: ${drawn.error.message}\n`);
    } else {
      throw drawn.error;
    }
    yield* pieces.splice(0);
  }
  const last = entries.at(-1);
  if (problems.length > 0 && last !== undefined) {
    addFile(zip, problemsFile, Buffer.from(problems.join('')), last.changedAtMs);
  }
  zip.end();
  yield* pieces.splice(0);
}

async function* drawAhead(entries: readonly ArchiveEntry[], render: Render): AsyncGenerator<Drawn> {
  const ahead: Array<Promise<Drawn>> = [];
  for (const entry of entries) {
    ahead.push(drawOne(entry, render));
    const first = ahead.length > aheadMax ? ahead.shift() : undefined;
    if (first !== undefined) yield await first;
  }
  for (const rest of ahead) yield await rest;
}

/** Never rejects: it may be awaited much later, or never. */
async function drawOne(entry: ArchiveEntry, render: Render): Promise<Drawn> {
  for (let tries = 1; ; tries += 1) {
    try {
      const { bytes } = await render(entry.request);
      return { entry, bytes };
    } catch (error) {
      const isFull = error instanceof Failure && error.code === 'overloaded';
      if (!isFull || tries === overloadTriesMax) return { entry, error };
      await wait(overloadWaitMs);
    }
  }
}

function addFile(zip: Zip, name: string, bytes: Uint8Array, changedAtMs: number): void {
  const ending = name.slice(name.lastIndexOf('.') + 1);
  const file = compressed.has(ending) ? new ZipPassThrough(name) : new ZipDeflate(name);
  file.mtime = changedAtMs;
  zip.add(file);
  const isWhole = bytes.length > 0;
  if (!isWhole) throw new Error(`Cannot archive ${name}: it is empty, expected an image`);
  file.push(bytes, isWhole);
}
