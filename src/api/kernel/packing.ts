/**
 * Adds an ETag, and brotli or gzip, to texts that clients fetch repeatedly: the document, the pages under /docs, and lists.
 * Other answers are small, or may have a secret next to a stranger's text, whose compressed size would reveal it. The
 * document and the pages are compressed once for each coding.
 */
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { type Coding, codingOf, isKnown, tagOf } from '../../platform/uws/headers.ts';
import type { Reply, Request } from '../../platform/uws/request.ts';

/** A shorter body gains nothing. */
const bytesMin = 1_024;
/** Names of routes: operations, or paths of pages. */
export const isList = (route: string): boolean => /^list[A-Z]/.test(route);
const staticName = /^(?:getOpenApi$|\/docs)/;

const compress: Readonly<Record<Coding, (body: string) => Promise<Uint8Array>>> = {
  br: (body) =>
    promisify(brotliCompress)(body, { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } }),
  gzip: (body) => promisify(gzip)(body),
};

export class Packing {
  /** By coding and ETag. */
  readonly #made = new Map<string, Promise<Uint8Array>>();

  /** Returns the answer of `route` unchanged, compressed, or as 304 if the client has it. */
  async pack(reply: Reply, request: Request, route: string): Promise<Reply> {
    const { status, body } = reply;
    const isStatic = staticName.test(route);
    if (status !== 200 || typeof body !== 'string' || body.length < bytesMin) return reply;
    if (!isStatic && !isList(route)) return reply;
    const ETag = `W/${tagOf(body)}`;
    const headers = { ...reply.headers, ETag, Vary: 'Accept-Encoding' };
    if (isKnown(request.header('if-none-match'), ETag)) return { status: 304, headers };
    const coding = codingOf(request.header('accept-encoding'));
    if (coding === undefined) return { ...reply, headers };
    const packed = await (isStatic ? this.#once(coding, ETag, body) : compress[coding](body));
    return { ...reply, headers: { ...headers, 'Content-Encoding': coding }, body: packed };
  }

  #once(coding: Coding, etag: string, body: string): Promise<Uint8Array> {
    const key = coding + etag;
    const known = this.#made.get(key) ?? compress[coding](body);
    this.#made.set(key, known);
    return known;
  }
}
