/** Saves an answer of the API as a file. */
import { send } from './http.ts';

/** Long enough for the browser to start the download. */
const keepMs = 60_000;

/** @throws Problem */
export async function downloadAnswer(
  path: string,
  accept: string,
  fileName: string,
): Promise<void> {
  const response = await send('GET', path, { accept });
  saveBlob(await response.blob(), fileName);
}

export function saveBlob(blob: Blob, fileName: string): void {
  const url = URL.createObjectURL(blob);
  const link = document.createElement('a');
  link.href = url;
  link.download = fileName;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), keepMs);
}
