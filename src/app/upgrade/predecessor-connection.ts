/** The successor's side of a takeover: its connection to the running service. messages.ts has the order and the rules. */
import { readlinkSync } from 'node:fs';
import type { Logger } from '../../platform/log.ts';
import { type DataFolder, DataFolderError } from '../folder/data-folder.ts';
import { Channel } from './channel.ts';
import { connectToOwner } from '../folder/folder-lock.ts';
import { type DataVersions, isOf, type Message, type MessageType, protocol } from './messages.ts';

export interface TakeoverHello {
  readonly release: string;
  readonly dataVersions: DataVersions;
}

/** Longest wait for an answer. A predecessor takes up to 3 s to end requests and webhook attempts, and 4 s to stop shards. */
const answerMsMax = 20_000;

export class PredecessorConnection {
  readonly #channel: Channel;
  /** Has the predecessor's journals and ports. */
  readonly accepted: Message<'accepted'>;
  readonly #msMax: number;

  private constructor(channel: Channel, accepted: Message<'accepted'>, msMax: number) {
    this.#channel = channel;
    this.accepted = accepted;
    this.#msMax = msMax;
  }

  /**
   * @returns undefined if no service runs on this folder, or it has ended without an answer
   * @throws DataFolderError with the reason if it refuses, or does not answer in time
   */
  static async find(
    folder: DataFolder,
    hello: TakeoverHello,
    log: Logger,
    msMax = answerMsMax,
  ): Promise<PredecessorConnection | undefined> {
    const socket = await connectToOwner(folder, 'take over');
    if (socket === undefined) return undefined;
    const channel = new Channel(socket, log);
    const first: Message = { type: 'takeover', protocol, ...hello, pidNamespace: pidNamespace() };
    const accepted = await ask(channel, first, 'accepted', msMax).catch((error: unknown) => {
      channel.destroy();
      throw error;
    });
    if (accepted === 'gone') return undefined;
    const { pid, release } = accepted;
    channel.log = log.child({ pid, release });
    channel.log.info('takeover started, running service continues');
    return new PredecessorConnection(channel, accepted, msMax);
  }

  /** True = the predecessor's process has ended or died. */
  get isGone(): boolean {
    return this.#channel.isClosed;
  }

  /** Reports that this process is booted. Resolves when the predecessor only redirects, or has ended.
   * @throws DataFolderError if it takes too long
   */
  async yield(): Promise<void> {
    await ask(this.#channel, { type: 'ready' }, 'yielded', this.#msMax);
  }

  /** Reports that this process redirects, and waits until the predecessor has ended. Kills one that hangs. */
  async listening(): Promise<void> {
    try {
      await ask(this.#channel, { type: 'listening' }, 'ended', this.#msMax);
    } catch (err) {
      this.#channel.log?.error({ err }, 'old process hangs, killing it');
      this.#kill();
    }
    await this.#channel.closed;
    this.#channel.log?.info('old process ended');
  }

  /** The connection ends with the process. Only a process of this user can have sent the id. */
  #kill(): void {
    const { pid } = this.accepted;
    if (pid <= 1 || pid === process.pid) return this.#channel.destroy();
    try {
      process.kill(pid, 'SIGKILL');
    } catch (err) {
      this.#channel.log?.error({ err }, 'cannot kill the old process');
      this.#channel.destroy();
    }
  }

  /** Gives up the takeover. */
  close(): void {
    this.#channel.destroy();
  }
}

/** A process id is valid in its namespace only: containers have their own. Empty if the system has none. */
export function pidNamespace(): string {
  try {
    return readlinkSync('/proc/self/ns/pid');
  } catch {
    return '';
  }
}

/** @throws DataFolderError if the other process refuses, or does not answer in time */
async function ask<Type extends MessageType>(
  channel: Channel,
  question: Message,
  type: Type,
  msMax: number,
): Promise<Message<Type> | 'gone'> {
  channel.send(question);
  const answer = await channel.receive<Type | 'refused'>([type, 'refused'], msMax);
  if (answer === 'gone') return 'gone';
  if (answer !== 'late' && isOf(answer, [type])) return answer;
  throw new DataFolderError(
    answer !== 'late' && isOf(answer, ['refused'])
      ? answer.reason
      : `Cannot take over: the running service did not answer within ${msMax / 1_000} s`,
  );
}
