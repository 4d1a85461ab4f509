/**
 * A picture as a PDF of one page, vector except for the logo: for print shops. `size` is in points.
 * The file carries no date, so that the same picture gives the same bytes.
 */
import { buffer } from 'node:stream/consumers';
import { formatColor } from '../../../model/design/color.ts';
import type { Paint } from '../design/style.ts';
import type { Picture } from './picture.ts';

/** PDFKit needs some date. */
const noDate = new Date(0);

export async function writePdf(picture: Picture, size: number): Promise<Uint8Array> {
  // Loaded with the first PDF: its fonts alone take 100 ms of every start.
  const { default: PdfDocument } = await import('pdfkit');
  const document = new PdfDocument({
    size: [size, size],
    margin: 0,
    // There is no text; the default font would be loaded.
    font: '',
    info: { Title: 'QR code', Producer: 'Quietzone', Creator: 'Quietzone', CreationDate: noDate },
  });
  const written = buffer(document);
  const { background, side, shapes, logo } = picture;
  document.scale(size / side);
  if (background !== undefined) document.rect(0, 0, side, side).fill(formatColor(background));
  for (const { path, paint } of shapes) {
    document.path(path.data).fill(fillOf(document, paint, picture));
  }
  if (logo !== undefined) {
    const { x, y, width, height } = logo.at;
    document.image(Buffer.from(logo.png), x, y, { width, height });
  }
  document.end();
  return Uint8Array.from(await written);
}

function fillOf(document: PDFKit.PDFDocument, paint: Paint, picture: Picture) {
  if (paint.kind === 'flat') return formatColor(paint.color);
  const { side, marginModules: margin } = picture;
  const middle = side / 2;
  const gradient =
    paint.kind === 'linear'
      ? document.linearGradient(margin, margin, side - margin, side - margin)
      : document.radialGradient(middle, middle, 0, middle, middle, (middle - margin) * Math.SQRT2);
  return gradient.stop(0, formatColor(paint.from)).stop(1, formatColor(paint.to));
}
