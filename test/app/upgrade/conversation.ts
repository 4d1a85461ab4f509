/** Both sides of a takeover for tests: a host that does what the test says, and sockets that say anything. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { expect } from 'vitest';
import type { DataFolder } from '../../../src/app/folder/data-folder.ts';
import { lockPath } from '../../../src/app/folder/folder-lock.ts';
import type { TakeoverHost } from '../../../src/app/upgrade/host-takeovers.ts';
import { pidNamespace } from '../../../src/app/upgrade/predecessor-connection.ts';
import { createLog, type Logger } from '../../../src/platform/log.ts';
import { soon } from '../../support/soon.ts';

export const dataVersions = { management: 7, scans: 2, delivery: 5 };
export const hello = { release: '2.0.0', dataVersions };
export const accepted = {
  type: 'accepted',
  release: '1.0.0',
  pid: process.pid,
  journals: [0, 1],
  ports: [80],
};
export const takeover = { type: 'takeover', protocol: 1, ...hello, pidNamespace: pidNamespace() };

/** Answers each step at once, or when the test lets it. */
export class TestHost implements TakeoverHost {
  readonly release = '1.0.0';
  readonly dataVersions = dataVersions;
  readonly journals = [0, 1];
  readonly ports = [80];
  refusal: string | undefined;
  hasYielded = false;
  readonly calls: string[] = [];
  readonly #held = new Map<string, Promise<void>>();

  /** The step waits until the returned function is called. */
  hold(step: 'yield' | 'finish'): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#held.set(step, promise);
    return resolve;
  }

  async yield(): Promise<void> {
    this.calls.push('yield');
    await this.#held.get('yield');
    this.hasYielded = true;
  }

  async finish(): Promise<void> {
    this.calls.push('finish');
    await this.#held.get('finish');
  }

  ended(): void {
    this.calls.push('ended');
  }

  orphaned(): void {
    this.calls.push('orphaned');
  }

  async hasCalls(...calls: string[]): Promise<void> {
    await expect.poll(() => this.calls, soon).toEqual(calls);
  }
}

/** One end of a connection that says lines, and waits for them. */
export class Talker {
  readonly closed: Promise<void>;
  readonly #socket: Socket;
  readonly #lines: AsyncIterator<string>;

  constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('error', () => undefined);
    this.closed = new Promise((done) => socket.once('close', () => done()));
    const lines = createInterface({ input: socket });
    lines.on('error', () => undefined);
    this.#lines = lines[Symbol.asyncIterator]();
  }

  say(...messages: object[]): void {
    for (const message of messages) this.write(`${JSON.stringify(message)}\n`);
  }

  write(text: string): void {
    this.#socket.write(text);
  }

  /** The next line, as a message. */
  async next(): Promise<unknown> {
    const { value } = await this.#lines.next();
    return JSON.parse(value);
  }

  close(): void {
    this.#socket.destroy();
  }
}

/** A successor that says what the test says. */
export async function talkTo(folder: DataFolder): Promise<Talker> {
  const socket = connect(lockPath(folder));
  await once(socket, 'connect');
  return new Talker(socket);
}

export interface TestLog {
  readonly log: Logger;
  /** Messages, with levels above info. */
  readonly lines: string[];
}

export function collectLog(): TestLog {
  const lines: string[] = [];
  const write = (line: string): void => {
    const { level, msg, fault } = JSON.parse(line);
    lines.push([level === 'info' ? [] : [level], msg, fault ?? []].flat().join(': '));
  };
  return { lines, log: createLog('info', { write }) };
}
