/**
 * A picture as a PDF of one page, vector but for the logo: for print shops. `size` is in points.
 * Without a date of its own, so that the same picture makes the same bytes.
 */
import { formatColour } from '../design/colour.ts';
import type { Paint } from '../design/style.ts';
import { svgData } from './path.ts';
import type { Picture } from './picture.ts';

/** Written where a date is due. */
const noDate = new Date(0);

export async function writePdf(picture: Picture, size: number): Promise<Uint8Array> {
  // Loaded with the first PDF: its fonts alone take 100 ms of every start.
  const { default: PdfDocument } = await import('pdfkit');
  const document = new PdfDocument({
    size: [size, size],
    margin: 0,
    info: { Title: 'QR code', Producer: 'Quietzone', Creator: 'Quietzone', CreationDate: noDate },
  });
  const pieces: Uint8Array[] = [];
  const ended = new Promise<void>((resolve, reject) => {
    document.on('data', (piece: Uint8Array) => pieces.push(piece));
    document.once('end', resolve);
    document.once('error', reject);
  });
  const { background, side, shapes, logo } = picture;
  document.scale(size / side);
  if (background !== undefined) document.rect(0, 0, side, side).fill(hex(background));
  for (const { path, paint } of shapes) {
    if (!path.isEmpty) document.path(svgData(path)).fill(fillOf(document, paint, picture));
  }
  if (logo !== undefined) {
    const { x, y, width, height } = logo.at;
    document.image(Buffer.from(logo.png), x, y, { width, height });
  }
  document.end();
  await ended;
  return Uint8Array.from(Buffer.concat(pieces));
}

function fillOf(document: PDFKit.PDFDocument, paint: Paint, picture: Picture) {
  if (paint.kind === 'flat') return hex(paint.colour);
  const { side, marginModules: margin } = picture;
  const middle = side / 2;
  const gradient =
    paint.kind === 'linear'
      ? document.linearGradient(margin, margin, side - margin, side - margin)
      : document.radialGradient(middle, middle, 0, middle, middle, (middle - margin) * Math.SQRT2);
  return gradient.stop(0, hex(paint.from)).stop(1, hex(paint.to));
}

/** pdfkit reads `#rgb` too, but one spelling is enough. */
function hex(colour: Parameters<typeof formatColour>[0]): string {
  return formatColour(colour);
}
