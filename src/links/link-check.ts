/** What the link table takes for granted of a link. */
import { keepScansLeft, type Link, targetBytesMax } from './layout.ts';

const scansLeftMax = 2 ** 31 - 1;
/** What a `Location` header may hold: nothing that could end it. */
const printableAscii = /^[!-~]+$/;

/** The domain modules validate; a wrong value here is a defect. */
export function checkLink(link: Link): void {
  const { target, expiresAtMs, scansLeft } = link;
  if (target.length < 1 || target.length > targetBytesMax) {
    throw new Error(
      `Cannot put a link: target of ${target.length} bytes, expected 1 to ${targetBytesMax}`,
    );
  }
  if (!printableAscii.test(target)) {
    throw new Error('Cannot put a link: target holds other characters, expected printable ASCII');
  }
  if (!Number.isSafeInteger(expiresAtMs) || expiresAtMs < 0) {
    throw new Error(
      `Cannot put a link: expires at ${expiresAtMs}, expected epoch milliseconds or 0`,
    );
  }
  if (!Number.isInteger(scansLeft) || scansLeft < keepScansLeft || scansLeft > scansLeftMax) {
    throw new Error(`Cannot put a link: ${scansLeft} scans left, expected -2 to ${scansLeftMax}`);
  }
}
