/** Names of image files, after what people call the code. */
import { withoutAccents } from '../../model/fold.ts';

const nameLengthMax = 60;
/** Names that Windows reserves for devices, with any extension. */
const deviceName = /^(?:con|prn|aux|nul|com\d|lpt\d)$/i;

/** A name for an archive, that is valid on every system: the code's name, then `unique`. */
export function fileName(name: string | undefined, unique: string, ending: string): string {
  const start = stemOf(name ?? '', /[^\p{L}\p{N}_-]+/gu);
  return `${start === '' ? '' : `${start}-`}${unique}.${ending}`;
}

/**
 * `Content-Disposition` of a download (RFC 6266): the code's name in ASCII, and in its own letters where that is
 * another; without a name, or without a letter that ASCII has, the id.
 */
export function attachment(name: string | undefined, id: string, ending: string): string {
  const plain = withoutAccents(name ?? '').replaceAll('ß', 'ss');
  const ascii = stemOf(plain, /[^A-Za-z0-9_-]+/g);
  const stem = stemOf(name ?? '', /[^\p{L}\p{M}\p{N}_-]+/gu);
  const header = `attachment; filename="${ascii === '' ? id : ascii}.${ending}"`;
  if (stem === '' || stem === ascii) return header;
  return `${header}; filename*=UTF-8''${encodeURIComponent(stem)}.${ending}`;
}

function stemOf(name: string, others: RegExp): string {
  const stem = name
    .normalize('NFC')
    .replace(others, '-')
    .slice(0, nameLengthMax)
    .toWellFormed()
    .replace(/^[-\ufffd]+|[-\ufffd]+$/g, '');
  return deviceName.test(stem) ? '' : stem;
}
