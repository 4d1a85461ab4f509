/** The processes next to the service that deliveries are measured with, and what passes between them and us. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';

/** What came to the receiver since it was last asked. */
export interface Received {
  readonly requests: number;
  /** Of these, bodies that are a list. */
  readonly batches: number;
  /** Of these, deliveries that had come before. */
  readonly repeated: number;
  /** Monotonic times of the receiver's own. */
  readonly firstMs: number;
  readonly lastMs: number;
  /** Of each scan, from its redirect to the first bytes of its POST. */
  readonly latenciesMs: readonly number[];
}

export interface PostOrder {
  readonly port: number;
  readonly connections: number;
  readonly count: number;
  readonly bytes: number;
}

/** A child process that answers each message with one. */
class Peer<Greeting, Answer> {
  readonly greeting: Greeting;
  readonly pid: number;
  readonly #child: ChildProcess;

  protected constructor(child: ChildProcess, greeting: Greeting) {
    this.#child = child;
    this.pid = child.pid!;
    this.greeting = greeting;
  }

  protected static async fork<Greeting>(file: URL): Promise<[ChildProcess, Greeting]> {
    const child = fork(file, { execArgv: ['--disable-warning=ExperimentalWarning'] });
    return [child, await next<Greeting>(child)];
  }

  ask(message: object): Promise<Answer> {
    const answer = next<Answer>(this.#child);
    this.#child.send(message);
    return answer;
  }

  async stop(): Promise<void> {
    const child = this.#child;
    if (child.exitCode !== null) return;
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  }
}

export class Receiver extends Peer<{ readonly port: number }, Received> {
  static async open(): Promise<Receiver> {
    const file = new URL('../rivals/webhook-receiver.ts', import.meta.url);
    const [child, greeting] = await Peer.fork<{ readonly port: number }>(file);
    return new Receiver(child, greeting);
  }

  get port(): number {
    return this.greeting.port;
  }

  /** What came since it was last asked. */
  take(): Promise<Received> {
    return this.ask({});
  }
}

export class BarePost extends Peer<object, object> {
  static async open(): Promise<BarePost> {
    const file = new URL('../rivals/bare-post.ts', import.meta.url);
    const [child, greeting] = await Peer.fork<object>(file);
    return new BarePost(child, greeting);
  }

  /** Resolves when all are answered. */
  async post(order: PostOrder): Promise<void> {
    await this.ask(order);
  }
}

/** @throws Error when the process ends instead */
async function next<T>(child: ChildProcess): Promise<T> {
  return new Promise((resolve, reject) => {
    const end = (): void => reject(new Error('Cannot measure: a process beside the service ended'));
    child.once('exit', end);
    child.once('message', (message) => {
      child.off('exit', end);
      resolve(message as T);
    });
  });
}
