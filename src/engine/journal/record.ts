/**
 * The scan record: what a redirect thread writes before it answers.
 *
 * The scans of one event-loop cycle form a frame with one time: it is written, checked and torn as a whole. Little endian.
 *
 *   frame   0  magic         u32  "QZJ1"
 *           4  payloadBytes  u32
 *           8  timeMs        f64  wall clock of the cycle
 *          16  scans         u32
 *          20  payloadCrc    u32  CRC-32 of the payload
 *          24  headerCrc     u32  CRC-32 of bytes 0..24: a good header is trusted to skip a bad payload
 *          28  zero          u32
 *          32  records
 *
 *   record  0  recordBytes   u16
 *           2  partition     u8   0..63, of the code
 *           3  flags         u8   1 prefetch, 2 IPv6 address; route << 2 (model/routing/labels.ts)
 *           4  codeNo        u32
 *           8  workspaceNo   u32
 *          12  agentBytes    u16  user agent, Latin-1, at most 512
 *          14  refererBytes  u16  referer, Latin-1, at most 512
 *          16  address       4 or 16 bytes, then agent, then referer
 *
 * uWS decodes header values from UTF-8 and cuts them at the first invalid byte. One byte a character keeps all that HTTP
 * allows in them and makes the rest deterministic.
 */
import { crc32 } from 'node:zlib';
import type { CodeNo, WorkspaceNo } from '../../model/numbers.ts';

declare global {
  /** Node's own, missing in its types: `write` and `toString` look them up by name on every call. */
  interface Buffer {
    latin1Write(text: string, offset: number, length: number): number;
    latin1Slice(start: number, end: number): string;
  }
}

const frameMagic = 0x314a5a51;
export const frameHeaderBytes = 32;
const recordHeaderBytes = 16;

/** Longer texts are cut: no real one is longer. Bounds the patterns that read agents, too. */
export const textBytesMax = 512;
const recordBytesMax = recordHeaderBytes + 16 + 2 * textBytesMax;
/** A larger frame is damaged. */
export const frameBytesMax = 1_048_576;
/** A frame travels in one message of a cluster, of at most 1 MB in all. */
export const batchBytesMax = 524_288;

export const flagPrefetch = 1;
const flagIpv6 = 2;
const routeShift = 2;
export const routeFlags = (route: number): number => route << routeShift;

/** Collects the scans of a cycle into a frame, without allocating. */
export class ScanBatch {
  readonly #bytes = Buffer.alloc(batchBytesMax);
  readonly #view = new DataView(this.#bytes.buffer, this.#bytes.byteOffset, batchBytesMax);
  #end = frameHeaderBytes;
  #scans = 0;

  get scans(): number {
    return this.#scans;
  }

  /** True when one more record might not fit: call `finish` first. */
  get isFull(): boolean {
    return this.#end + recordBytesMax > batchBytesMax;
  }

  /** @param flags with the `routeFlags` @param address 4 bytes, 16 for IPv6 @returns the record's offset, for `remove` */
  add(
    partition: number,
    codeNo: CodeNo,
    workspaceNo: WorkspaceNo,
    flags: number,
    address: Uint8Array,
    agent: string,
    referer: string,
  ): number {
    const view = this.#view;
    const start = this.#end;
    const addressBytes = address.length;
    const agentBytes = agent.length < textBytesMax ? agent.length : textBytesMax;
    const refererBytes = referer.length < textBytesMax ? referer.length : textBytesMax;
    let at = start + recordHeaderBytes;
    for (let i = 0; i < addressBytes; i++) view.setUint8(at + i, address[i]!);
    at += addressBytes;
    if (agentBytes > 0) this.#bytes.latin1Write(agent, at, agentBytes);
    at += agentBytes;
    if (refererBytes > 0) this.#bytes.latin1Write(referer, at, refererBytes);
    at += refererBytes;
    view.setUint16(start, at - start, true);
    view.setUint8(start + 2, partition);
    view.setUint8(start + 3, addressBytes === 16 ? flags | flagIpv6 : flags);
    view.setUint32(start + 4, codeNo, true);
    view.setUint32(start + 8, workspaceNo, true);
    view.setUint16(start + 12, agentBytes, true);
    view.setUint16(start + 14, refererBytes, true);
    this.#end = at;
    this.#scans++;
    return start;
  }

  /** Removes the record at `start`. Later ones move, so remove the last first. */
  remove(start: number): void {
    const bytes = this.#view.getUint16(start, true);
    this.#bytes.copyWithin(start, start + bytes, this.#end);
    this.#end -= bytes;
    this.#scans--;
  }

  /** Finishes the frame and starts the next; the returned bytes are valid until the next `add`. */
  finish(timeMs: number): Buffer {
    const bytes = this.#bytes;
    const view = this.#view;
    const end = this.#end;
    view.setUint32(0, frameMagic, true);
    view.setUint32(4, end - frameHeaderBytes, true);
    view.setFloat64(8, timeMs, true);
    view.setUint32(16, this.#scans, true);
    view.setUint32(20, crc32(bytes.subarray(frameHeaderBytes, end)), true);
    view.setUint32(24, headerCrc(bytes, 0), true);
    view.setUint32(28, 0, true);
    this.#end = frameHeaderBytes;
    this.#scans = 0;
    return bytes.subarray(0, end);
  }
}

const crcTable = Int32Array.from({ length: 256 }, (_, byte) => {
  let rest = byte;
  for (let bit = 0; bit < 8; bit++)
    rest = (rest & 1) === 0 ? rest >>> 1 : (rest >>> 1) ^ 0xedb88320;
  return rest;
});

/** CRC-32 of the 24 bytes at `at`: 60 ns, where a view and a native call for so few cost 170. */
function headerCrc(bytes: Buffer, at: number): number {
  let crc = -1;
  for (let i = at; i < at + 24; i++) crc = (crc >>> 8) ^ crcTable[(crc ^ bytes[i]!) & 0xff]!;
  return ~crc >>> 0;
}

export function isFrameHeader(bytes: Buffer, at: number): boolean {
  return (
    bytes.length - at >= frameHeaderBytes &&
    bytes.readUInt32LE(at) === frameMagic &&
    bytes.readUInt32LE(at + 28) === 0 &&
    bytes.readUInt32LE(at + 24) === headerCrc(bytes, at) &&
    bytes.readUInt32LE(at + 4) <= frameBytesMax - frameHeaderBytes
  );
}

export const framePayloadBytes = (bytes: Buffer, at: number): number => bytes.readUInt32LE(at + 4);
export const frameTimeMs = (bytes: Buffer, at: number): number => bytes.readDoubleLE(at + 8);
export const frameScans = (bytes: Buffer, at: number): number => bytes.readUInt32LE(at + 16);

/** True when the payload of the frame at `at` is complete and matches its checksum. */
export function isFramePayloadSound(bytes: Buffer, at: number): boolean {
  const from = at + frameHeaderBytes;
  const to = from + framePayloadBytes(bytes, at);
  return to <= bytes.length && bytes.readUInt32LE(at + 20) === crc32(bytes.subarray(from, to));
}

/** A cursor over the records of a sound frame: decodes what is asked for, because a shard skips records of others. */
export class RecordCursor {
  #bytes: Buffer = Buffer.alloc(0);
  #view: DataView = new DataView(new ArrayBuffer(0));
  #at = 0;
  #next = 0;
  #end = 0;
  timeMs = 0;
  /** Records skipped so far because their lengths contradict each other. */
  malformed = 0;

  open(bytes: Buffer, frameAt: number): void {
    if (bytes !== this.#bytes) {
      this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
      this.#bytes = bytes;
    }
    this.timeMs = this.#view.getFloat64(frameAt + 8, true);
    this.#next = frameAt + frameHeaderBytes;
    this.#end = this.#next + this.#view.getUint32(frameAt + 4, true);
  }

  /** Moves to the next record; skips a malformed one, and the rest of the frame where its own length is wrong. */
  next(): boolean {
    while (this.#next < this.#end) {
      const at = this.#next;
      const bytes = at + recordHeaderBytes > this.#end ? 0 : this.#view.getUint16(at, true);
      if (bytes < recordHeaderBytes || at + bytes > this.#end) {
        this.#next = this.#end;
        this.malformed++;
        return false;
      }
      this.#at = at;
      this.#next = at + bytes;
      const texts = this.#view.getUint16(at + 12, true) + this.#view.getUint16(at + 14, true);
      if (this.#textStart() + texts === this.#next) return true;
      this.malformed++;
    }
    return false;
  }

  /** In the opened bytes; with their position it identifies the scan. */
  get offset(): number {
    return this.#at;
  }
  get partition(): number {
    return this.#view.getUint8(this.#at + 2);
  }
  get isPrefetch(): boolean {
    return (this.#view.getUint8(this.#at + 3) & flagPrefetch) !== 0;
  }
  get route(): number {
    return this.#view.getUint8(this.#at + 3) >>> routeShift;
  }
  get codeNo(): number {
    return this.#view.getUint32(this.#at + 4, true);
  }
  get workspaceNo(): number {
    return this.#view.getUint32(this.#at + 8, true);
  }
  /** Copies the client address as 16 bytes (IPv4 as ::ffff:a.b.c.d) into `target`. */
  copyAddress(target: Uint8Array): void {
    const from = this.#at + recordHeaderBytes;
    const view = this.#view;
    if ((view.getUint8(this.#at + 3) & flagIpv6) !== 0) {
      for (let i = 0; i < 16; i++) target[i] = view.getUint8(from + i);
      return;
    }
    target.fill(0, 0, 10);
    target[10] = 255;
    target[11] = 255;
    for (let i = 0; i < 4; i++) target[12 + i] = view.getUint8(from + i);
  }
  get agent(): string {
    return this.#text(this.#textStart(), this.#agentBytes);
  }
  get referer(): string {
    return this.#text(
      this.#textStart() + this.#agentBytes,
      this.#view.getUint16(this.#at + 14, true),
    );
  }
  get #agentBytes(): number {
    return this.#view.getUint16(this.#at + 12, true);
  }
  #text(from: number, length: number): string {
    return length === 0 ? '' : this.#bytes.latin1Slice(from, from + length);
  }
  #textStart(): number {
    const isIpv6 = (this.#view.getUint8(this.#at + 3) & flagIpv6) !== 0;
    return this.#at + recordHeaderBytes + (isIpv6 ? 16 : 4);
  }
}
