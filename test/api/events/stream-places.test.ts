/** All places of the live stream taken: whose is given to a workspace that has none. Real sockets, all 512. */
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { soon } from '../../support/soon.ts';
import { startTestApi, type TestApp } from '../../support/test-app.ts';

const streamsMax = 512;
const workspaceStreamsMax = 64;
const keyStreamsMax = 16;

/** A stream as bytes, from the status line on. */
class Stream {
  text = '';
  readonly #socket: Socket;

  constructor(socket: Socket) {
    this.#socket = socket;
    socket.setEncoding('utf8').on('data', (text: string) => (this.text += text));
    socket.on('error', () => undefined);
  }

  get status(): number {
    return Number(this.text.slice(9, 12));
  }

  get isEnded(): boolean {
    return this.text.includes('another workspace needs the place');
  }

  close(): void {
    this.#socket.destroy();
  }
}

let service: TestApp;
let userId: string;
const streams: Stream[] = [];

beforeAll(async () => {
  service = await startTestApi();
  userId = service.workspaces.users.firstOwner(1)?.id ?? '';
});
afterAll(async () => {
  for (const stream of streams) stream.close();
  await service.close();
});

/** Keys of a new workspace whose plan is in nobody's way. */
async function keysOfNewWorkspace(count: number): Promise<string[]> {
  const { workspaces, keys } = service.workspaces;
  const { no } = await workspaces.create(userId, 'Another');
  await workspaces.setPlan(no, 'enterprise', { perMinute: 100_000, perDay: undefined });
  const made: string[] = [];
  for (let at = 0; at < count; at++) {
    const key = { workspaceNo: no, userId, name: `Key ${at}`, role: 'viewer' } as const;
    made.push((await keys.create(key)).token);
  }
  return made;
}

/** Resolves with the first bytes of the answer. */
async function follow(key: string): Promise<Stream> {
  const { hostname, port } = new URL(service.url);
  const socket = connect(Number(port), hostname);
  const stream = new Stream(socket);
  streams.push(stream);
  socket.write(
    `GET /v1/events/stream HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: Bearer ${key}\r\n\r\n`,
  );
  await expect.poll(() => stream.text.includes('\r\n\r\n'), soon).toBe(true);
  if (stream.status === 200) {
    await expect.poll(() => stream.text.includes('\nid: '), soon).toBe(true);
  }
  return stream;
}

test('a workspace with none gets one of the workspace with the most, and no more than is fair', async () => {
  const greedy: string[][] = [];
  for (let at = 0; at < streamsMax / workspaceStreamsMax; at++) {
    greedy.push(await keysOfNewWorkspace(workspaceStreamsMax / keyStreamsMax));
  }
  const [quiet = ''] = await keysOfNewWorkspace(1);
  for (const key of greedy.flat()) {
    const opened = await Promise.all(Array.from({ length: keyStreamsMax }, () => follow(key)));
    expect(opened.map(({ status }) => status)).toEqual(Array(keyStreamsMax).fill(200));
  }

  const late = await follow(quiet);
  expect(late.status).toBe(200);
  await expect.poll(() => streams.filter(({ isEnded }) => isEnded).length).toBe(1);
  expect(late.isEnded).toBe(false);

  // The one that had to give comes again: it has as many as the others, and takes none of theirs.
  const [[first = ''] = []] = greedy;
  expect((await follow(first)).status).toBe(503);
  expect(late.isEnded).toBe(false);
});
