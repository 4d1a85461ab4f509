/**
 * HTTP as bytes on a socket, for what no client library would send.
 */
import { connect } from 'node:net';

export interface RawAnswer {
  readonly text: string;
  readonly statuses: readonly number[];
  /** The server closed the connection. */
  readonly closed: boolean;
}

/**
 * Writes the parts one after another and collects what comes until the server closes or `waitMs` pass.
 */
export async function sendRaw(
  port: number,
  parts: ReadonlyArray<string | Uint8Array>,
  waitMs = 300,
): Promise<RawAnswer> {
  const socket = connect(port, '127.0.0.1');
  const chunks: Buffer[] = [];
  let closed = false;
  socket.on('data', (chunk) => chunks.push(chunk));
  socket.on('error', () => undefined);
  const gone = new Promise<void>((resolve) => {
    socket.once('close', () => {
      closed = true;
      resolve();
    });
  });
  for (const part of parts) {
    socket.write(part);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  await Promise.race([gone, new Promise((resolve) => setTimeout(resolve, waitMs))]);
  const wasClosed = closed;
  socket.destroy();
  await gone;
  const text = Buffer.concat(chunks).toString('latin1');
  const statuses = [...text.matchAll(/HTTP\/1\.1 (\d{3}) [A-Z]/g)].map((match) => Number(match[1]));
  return { text, statuses, closed: wasClosed };
}
