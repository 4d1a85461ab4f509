/**
 * Progress of an answer that takes long, for clients that ask for `text/event-stream`: raw scans are read in a thread, and what
 * is done of them is sent twice a second. Whatever comes of it is the last event. A client that closes the connection cancels its query:
 * raw scans that nobody else waits for are not read any further.
 *
 *   progress {"share": 0.4} … then result <the JSON answer>, or problem {code, detail, errors}
 */
import { setTimeout as pause } from 'node:timers/promises';
import { Failure } from '../../model/failure.ts';
import { QueryClient } from '../../scans/query/subject.ts';
import type { Result, StreamedResult } from '../route.ts';

const eventStream = 'text/event-stream';
const everyMs = 500;

/** @param work gets undefined when the client waits for the complete answer */
export async function withProgress<Answer extends Result | StreamedResult>(
  accept: string | undefined,
  work: (client: QueryClient | undefined) => Promise<Answer>,
): Promise<Answer | StreamedResult> {
  if (accept?.trim() !== eventStream) return await work(undefined);
  const headers = { 'Content-Type': eventStream, 'Cache-Control': 'no-store', Vary: 'Accept' };
  return { status: 200, headers, body: eventsOf(work) };
}

/** The work begins with the first pull: an answer to HEAD is never pulled. Nor does it reject when the client has disconnected. */
async function* eventsOf(
  work: (client: QueryClient) => Promise<Result | StreamedResult>,
): AsyncGenerator<Uint8Array> {
  let last: (() => Uint8Array) | undefined;
  const client = new QueryClient();
  const done = work(client).then(
    (answer) => void (last = () => resultOf(answer)),
    (error: unknown) => void (last = () => problemOf(error)),
  );
  try {
    for (;;) {
      await Promise.race([done, pause(everyMs)]);
      if (last !== undefined) break;
      yield event('progress', JSON.stringify({ share: client.waitsFor?.share ?? 0 }));
    }
    yield last();
  } finally {
    client.cancel();
  }
}

/** What a request for events gets is never a file. */
function resultOf({ body }: Result | StreamedResult): Uint8Array {
  if (typeof body !== 'string') throw new Error('Cannot send a file as an event, expected JSON');
  return event('result', body);
}

/** @throws what is no failure: the request fails as every other one with a defect */
function problemOf(error: unknown): Uint8Array {
  if (!(error instanceof Failure)) throw error;
  const { code, message: detail, faults: errors } = error;
  return event('problem', JSON.stringify({ code, detail, errors }));
}

const event = (name: string, data: string): Uint8Array =>
  Buffer.from(`event: ${name}\ndata: ${data}\n\n`);
