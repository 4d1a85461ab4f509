/** The running service's side of a takeover: a connection from another process. messages.ts has the order and the rules. */
import type { Socket } from 'node:net';
import type { Logger } from '../../telemetry/log.ts';
import { Channel } from './channel.ts';
import {
  commandBytesMax,
  type CommandMessage,
  type DataVersions,
  lineBytesMax,
  parseSuccessorMessage,
  type PredecessorMessage,
  protocol,
  type SuccessorMessage,
  type TakeoverMessage,
} from './messages.ts';

/** What the running service does for a successor. */
export interface TakeoverHost {
  readonly release: string;
  readonly dataVersions: DataVersions;
  readonly journals: readonly number[];
  readonly ports: readonly number[];
  /** Undefined = a takeover may begin; else why not, as the end of "Cannot take over: …". */
  readonly refusal: string | undefined;
  /** It only redirects, and waits for its next successor. */
  readonly hasYielded: boolean;
  /** Ends all but redirects. The next successor finds it done. */
  yield(): Promise<void>;
  /** Stops listening. Resolves when nothing is written any more. */
  finish(): Promise<void>;
  /** The process may exit. */
  ended(): void;
  /** The successor has died after `yield`. */
  orphaned(): void;
}

export type SuccessorChannel = Channel<SuccessorMessage, PredecessorMessage>;

export interface SuccessorOptions {
  readonly host: TakeoverHost;
  readonly log: Logger;
  /** From its connection to its first message. */
  readonly askMsMax: number;
  /** @returns why it may not take over */
  readonly admit: (successor: SuccessorConnection, hello: TakeoverMessage) => string | undefined;
  readonly onCommand: (channel: SuccessorChannel, message: CommandMessage) => void;
  /** Ends all commands and refuses new ones. */
  readonly beforeYield: () => Promise<void>;
  readonly onOver: (successor: SuccessorConnection) => void;
}

export class SuccessorConnection {
  readonly #options: SuccessorOptions;
  readonly #channel: SuccessorChannel;
  #log: Logger;
  #state: 'asked' | 'accepted' | 'yielding' | 'yielded' | 'finishing' | 'over' = 'asked';
  readonly #silence: NodeJS.Timeout;

  constructor(socket: Socket, options: SuccessorOptions) {
    this.#options = options;
    this.#log = options.log;
    this.#channel = new Channel(socket, {
      parse: parseSuccessorMessage,
      lineBytesMax: commandBytesMax,
      onMessage: (message) => this.#take(message),
      onFault: (fault) => this.#fault(fault),
    });
    void this.#channel.closed.then(() => this.#onClosed());
    this.#silence = setTimeout(() => this.#fault('silence'), options.askMsMax);
    this.#silence.unref();
  }

  /** The service stops. The end of the process ends a takeover that is under way. */
  stop(): void {
    if (this.#state === 'asked') this.#channel.destroy();
    else this.#channel.unref();
  }

  #take(message: SuccessorMessage): void {
    const { type } = message;
    if (this.#state === 'asked') {
      if (type === 'takeover') return this.#meet(message);
      if (type === 'command') return this.#command(message);
      if (type === 'status') return this.#sendStatus();
      if (type === 'other protocol') {
        const known = `this release knows protocol ${message.protocol} of takeovers, the running one ${protocol}`;
        return this.#refuse(`${known}; stop it, then start this one`);
      }
    }
    if (this.#state === 'accepted' && type === 'ready') return void this.#yield();
    if (this.#state === 'yielded' && type === 'listening') return void this.#finish();
    this.#fault(`"${type}" while ${this.#state}`);
  }

  #command(message: CommandMessage): void {
    this.#over();
    this.#options.onCommand(this.#channel, message);
  }

  #sendStatus(): void {
    this.#over();
    this.#channel.sendLast({ type: this.#options.host.hasYielded ? 'yielded' : 'running' });
  }

  #meet(hello: TakeoverMessage): void {
    const { host, admit, log } = this.#options;
    this.#channel.lineBytesMax = lineBytesMax;
    this.#log = log.child({ release: hello.release });
    const refusal = admit(this, hello);
    if (refusal !== undefined) return this.#refuse(refusal);
    clearTimeout(this.#silence);
    this.#state = 'accepted';
    this.#log.info('a successor is booting');
    const { release, journals, ports } = host;
    this.#channel.send({ type: 'accepted', release, pid: process.pid, journals, ports });
  }

  #refuse(refusal: string): void {
    this.#log.warn({ refusal }, 'a takeover was refused');
    this.#over();
    this.#channel.sendLast({ type: 'refused', reason: `Cannot take over: ${refusal}` });
  }

  async #yield(): Promise<void> {
    this.#state = 'yielding';
    this.#log.info('the successor is ready, yielding to it');
    await this.#options.beforeYield();
    await this.#options.host.yield();
    if (this.#channel.isClosed) return this.#orphaned();
    this.#state = 'yielded';
    this.#channel.send({ type: 'yielded' });
    this.#log.info('yielded to the successor: redirecting until it listens');
  }

  async #finish(): Promise<void> {
    this.#state = 'finishing';
    this.#log.info('the successor listens, handing over redirects');
    await this.#options.host.finish();
    this.#channel.sendLast({ type: 'ended' });
    this.#log.info('the successor has taken over');
    this.#options.host.ended();
  }

  /** Once the successor may write, the end of the connection would mean the end of this process to it. */
  #fault(fault: string): void {
    this.#log.warn({ fault }, 'unexpected message from another process');
    if (this.#state === 'asked' || this.#state === 'accepted') this.#channel.destroy();
  }

  #onClosed(): void {
    if (this.#state === 'accepted') this.#log.warn('the successor has died');
    if (this.#state === 'asked' || this.#state === 'accepted') this.#over();
    if (this.#state === 'yielded') this.#orphaned();
  }

  #orphaned(): void {
    this.#log.error('the successor has died: redirecting until the next one starts');
    this.#over();
    this.#options.host.orphaned();
  }

  #over(): void {
    this.#state = 'over';
    clearTimeout(this.#silence);
    this.#options.onOver(this);
  }
}
