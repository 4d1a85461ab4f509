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

/** Beyond this nothing comes any more: only a test that fails waits as long. */
const answerMsMax = 30_000;
/** Between what was waited for and what must not follow it. */
const quietMs = 20;

/**
 * Writes the parts one after another and collects what comes until the server closes. Without `waitMs` it
 * also ends when every request in the parts has its answer, unless one of them says that it closes; with it
 * whatever comes in that time is collected, which suits a test of what must not come.
 */
export async function sendRaw(
  port: number,
  parts: ReadonlyArray<string | Uint8Array>,
  waitMs?: number,
): Promise<RawAnswer> {
  const { socket, gone, received, end } = open(port);
  const wanted = requestsIn(parts.map(textOf).join(''));
  let quiet: NodeJS.Timeout | undefined;
  let timer: NodeJS.Timeout | undefined;
  const answered = new Promise<void>((resolve) => {
    socket.on('data', () => {
      const text = received();
      const isLast = /^connection: close/im.test(text);
      if (waitMs !== undefined || isLast || statusesIn(text).length < wanted) return;
      clearTimeout(quiet);
      quiet = setTimeout(resolve, quietMs);
    });
  });
  for (const part of parts) {
    socket.write(part);
    await new Promise((resolve) => setTimeout(resolve, 5));
    // What has come meanwhile is read before more is written: a second write to a connection that the server has
    // closed fails, and Node throws away with the socket what was not read yet.
    await new Promise((resolve) => setImmediate(resolve));
  }
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, waitMs ?? answerMsMax);
  });
  await Promise.race([gone, answered, late]);
  clearTimeout(timer);
  clearTimeout(quiet);
  return await end();
}

/** Writes each part when the one before was answered, until the server closes. */
export async function sendOneByOne(port: number, parts: readonly string[]): Promise<RawAnswer> {
  const { socket, gone, received, end } = open(port);
  for (const part of parts) {
    const before = statusesIn(received()).length;
    socket.write(part);
    // What comes of the answer before does not answer this part.
    while (!socket.closed && statusesIn(received()).length === before) {
      await Promise.race([new Promise((resolve) => socket.once('data', resolve)), gone]);
    }
  }
  return await end();
}

function open(port: number) {
  const socket = connect(port, '127.0.0.1');
  const chunks: Buffer[] = [];
  socket.on('error', () => undefined);
  socket.on('data', (chunk) => void chunks.push(chunk));
  const gone = new Promise<void>((resolve) => void socket.once('close', () => resolve()));
  const received = (): string => textOf(Buffer.concat(chunks));
  const end = async (): Promise<RawAnswer> => {
    const { closed } = socket;
    socket.destroy();
    await gone;
    const text = received();
    return { text, statuses: statusesIn(text), closed };
  };
  return { socket, gone, received, end };
}

const textOf = (bytes: string | Uint8Array): string =>
  typeof bytes === 'string' ? bytes : Buffer.from(bytes).toString('latin1');

const requestsIn = (text: string): number => text.match(/[A-Z]+ \S+ HTTP\/1\.1\r\n/g)?.length ?? 0;

const statusesIn = (text: string): number[] =>
  [...text.matchAll(/HTTP\/1\.1 (\d{3}) [A-Z]/g)].map((match) => Number(match[1]));
