/** A server under load: a separate child process, so that its CPU time and memory are its alone. */
import { type ChildProcess, spawn } from 'node:child_process';
import { type IncomingMessage, request } from 'node:http';
import { request as requestTls } from 'node:https';
import { createServer } from 'node:net';
import { systemClock } from '../../src/platform/system-clock.ts';

const readyMsMax = 120_000;
const stopMsMax = 20_000;
const pollMs = 10;
/**
 * Below every range out of which a kernel gives ports to connections and to listeners on port 0, and below the
 * tests' own; processes that start together begin far from each other. None that `fetch` refuses, such as 6667: the
 * last of those is 6697, the next 10080 (Fetch standard, "bad port").
 */
const firstPort = 7_000;
const ports = 3_000;
let nextPort = (process.pid * 577) % ports;

export interface ServerCommand {
  readonly file: string;
  readonly args: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly port: number;
  /** Asked until it is answered with 302. */
  readonly path: string;
  readonly target: string;
  /** Absent: `http:`. */
  readonly scheme?: 'https:' | undefined;
}

export class Server {
  readonly pid: number;
  readonly port: number;
  /** From the start of the process to its first redirect. */
  readonly readyMs: number;
  /** Resolves when the process ends. */
  readonly ended: Promise<unknown>;
  readonly #process: ChildProcess;
  readonly #said: () => string;

  private constructor(process: ChildProcess, said: () => string, port: number, readyMs: number) {
    this.#process = process;
    this.#said = said;
    this.ended = new Promise((resolve) => process.once('exit', resolve));
    this.pid = process.pid!;
    this.port = port;
    this.readyMs = readyMs;
  }

  /** Resolves once the server redirects rightly. @throws Error with what the process said */
  static async start(command: ServerCommand): Promise<Server> {
    const startedMs = systemClock.monotonicMs();
    const child = spawn(command.file, [...command.args], {
      env: { ...process.env, ...command.environment },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let said = '';
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      said = (said + text).slice(-4_000);
    });
    while (systemClock.monotonicMs() - startedMs < readyMsMax) {
      if (child.exitCode !== null || child.signalCode !== null) break;
      const location = await redirectOf(command);
      if (location === command.target) {
        const readyMs = systemClock.monotonicMs() - startedMs;
        return new Server(child, () => said, command.port, readyMs);
      }
      if (location !== undefined) throw new Error(`Wrong redirect: ${location}`);
      await new Promise((resolve) => setTimeout(resolve, pollMs));
    }
    child.kill('SIGKILL');
    throw new Error(`Cannot start ${command.file} ${command.args.join(' ')}: ${said}`);
  }

  /** @throws Error with what the process said, when it has ended */
  assertRuns(): void {
    const { exitCode, signalCode } = this.#process;
    if (exitCode === null && signalCode === null) return;
    throw new Error(
      `Cannot measure: the server ended (${exitCode ?? signalCode}): ${this.#said()}`,
    );
  }

  async stop(): Promise<void> {
    const child = this.#process;
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGTERM');
    const timer = setTimeout(() => child.kill('SIGKILL'), stopMsMax);
    await this.ended;
    clearTimeout(timer);
  }
}

/** Where the path leads; undefined while nobody answers. */
function redirectOf({ scheme, port, path }: ServerCommand): Promise<string | undefined> {
  // A connection that stays open would be waited for when the server stops: ten seconds of ours.
  const place = { host: '127.0.0.1', port, path, method: 'HEAD', agent: false } as const;
  return new Promise((resolve) => {
    const onAnswer = ({ statusCode, headers }: IncomingMessage): void =>
      resolve(statusCode === 302 ? (headers.location ?? '') : `status ${statusCode}`);
    const sent =
      scheme === undefined
        ? request(place, onAnswer)
        : requestTls({ ...place, rejectUnauthorized: false }, onAnswer);
    sent.once('error', () => resolve(undefined));
    sent.end();
  });
}

/** A port that is free now. */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < ports; tries++) {
    const port = firstPort + nextPort;
    nextPort = (nextPort + 1) % ports;
    if (await isFree(port)) return port;
  }
  throw new Error(`Cannot find a free port from ${firstPort} on`);
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => resolve(false));
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)));
  });
}
