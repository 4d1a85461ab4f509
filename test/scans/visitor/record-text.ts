/** A text as a scan record holds it, between other bytes. */
import { RecordText } from '../../../src/scans/record.ts';

export function recordText(text: string): RecordText {
  const made = new RecordText();
  made.bytes = Buffer.from(`<<<${text}>>>`, 'latin1');
  made.view = new DataView(made.bytes.buffer, made.bytes.byteOffset, made.bytes.length);
  made.from = 3;
  made.length = text.length;
  return made;
}
