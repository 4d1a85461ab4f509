/** The successor's side of a takeover: its connection to the running service. messages.ts has the order and the rules. */
import type { Socket } from 'node:net';
import type { Logger } from '../../telemetry/log.ts';
import { type DataFolder, DataFolderError } from '../data-folder.ts';
import { Channel } from './channel.ts';
import { connectToOwner, pidNamespace } from './folder-lock.ts';
import {
  type AcceptedMessage,
  type DataVersions,
  lineBytesMax,
  parsePredecessorMessage,
  type PredecessorMessage,
  protocol,
  type SuccessorMessage,
} from './messages.ts';

export interface TakeoverHello {
  readonly release: string;
  readonly dataVersions: DataVersions;
}

/** For each answer. A predecessor ends requests and attempts of webhooks for 3 s, and stops shards for 4 s. */
const answerMsMax = 20_000;

export class PredecessorConnection {
  readonly #channel: Channel<PredecessorMessage, SuccessorMessage>;
  #log: Logger;
  readonly #answerMsMax: number;
  #accepted: AcceptedMessage | undefined;
  #answer: PromiseWithResolvers<PredecessorMessage | 'gone'> | undefined;

  private constructor(socket: Socket, log: Logger, msMax: number) {
    this.#log = log;
    this.#answerMsMax = msMax;
    this.#channel = new Channel(socket, {
      parse: parsePredecessorMessage,
      lineBytesMax,
      onMessage: (message) => this.#answer?.resolve(message),
      onFault: (fault) => this.#log.warn({ fault }, 'unexpected message from the running service'),
    });
    void this.#channel.closed.then(() => this.#answer?.resolve('gone'));
  }

  /**
   * @returns undefined if no service runs on this folder, or it has ended without an answer
   * @throws DataFolderError with the reason if it refuses, or does not answer in time
   */
  static async find(
    folder: DataFolder,
    { release, dataVersions }: TakeoverHello,
    log: Logger,
    msMax = answerMsMax,
  ): Promise<PredecessorConnection | undefined> {
    const socket = await connectToOwner(folder, 'take over');
    if (socket === undefined) return undefined;
    const predecessor = new PredecessorConnection(socket, log, msMax);
    const hello = { release, dataVersions, pidNamespace: pidNamespace() };
    const answer = await predecessor.#ask({ type: 'takeover', protocol, ...hello }, 'accepted');
    if (answer === 'gone') return undefined;
    predecessor.#accepted = answer;
    predecessor.#log = log.child({ pid: answer.pid, release: answer.release });
    predecessor.#log.info('takeover started, booting next to the running service');
    return predecessor;
  }

  get journals(): readonly number[] {
    return this.#accepted?.journals ?? [];
  }

  get ports(): readonly number[] {
    return this.#accepted?.ports ?? [];
  }

  /** Its process has died, or has ended. */
  get isGone(): boolean {
    return this.#channel.isClosed;
  }

  /**
   * This process is booted. Resolves when the other one only redirects, or is gone.
   * @throws DataFolderError if it takes too long
   */
  async yield(): Promise<void> {
    await this.#ask({ type: 'ready' }, 'yielded');
  }

  /** This process redirects. Resolves when the other one writes nothing any more: one that hangs is killed. */
  async listening(): Promise<void> {
    try {
      await this.#ask({ type: 'listening' }, 'ended');
    } catch (err) {
      this.#log.error({ err }, 'killing the old process: it hangs');
      this.#kill();
    }
    await this.#channel.closed;
    this.#log.info('the old process has ended');
  }

  /** Its connection ends with it. Only a process of this user can have sent the id. */
  #kill(): void {
    const { pid = 0 } = this.#accepted ?? {};
    if (pid <= 1 || pid === process.pid) return this.#channel.destroy();
    try {
      process.kill(pid, 'SIGKILL');
    } catch (err) {
      this.#log.error({ err }, 'cannot kill the old process');
      this.#channel.destroy();
    }
  }

  /** Gives up. */
  close(): void {
    this.#channel.destroy();
  }

  async #ask<Type extends PredecessorMessage['type']>(
    message: SuccessorMessage,
    expected: Type,
  ): Promise<Extract<PredecessorMessage, { type: Type }> | 'gone'> {
    if (this.isGone) return 'gone';
    const answer = Promise.withResolvers<PredecessorMessage | 'gone'>();
    this.#answer = answer;
    const seconds = this.#answerMsMax / 1_000;
    const late = new DataFolderError(
      `Cannot take over: the running service did not answer within ${seconds} s`,
    );
    const timer = setTimeout(() => answer.reject(late), this.#answerMsMax);
    this.#channel.send(message);
    try {
      const received = await answer.promise;
      if (received === 'gone' || isOf(received, expected)) return received;
      const isRefusal = received.type === 'refused';
      throw new DataFolderError(
        isRefusal ? received.reason : `Cannot take over: unexpected answer "${received.type}"`,
      );
    } finally {
      clearTimeout(timer);
    }
  }
}

const isOf = <Type extends PredecessorMessage['type']>(
  message: PredecessorMessage,
  type: Type,
): message is Extract<PredecessorMessage, { type: Type }> => message.type === type;
