/**
 * A port of one thread, with a bound of connections: a crowd of idle ones takes no descriptor from the rest of the
 * process, nor every place from those that ask for something.
 *
 *   young half: listens        its places are taken -> the old half is closed, and listens instead
 *   old half:   goes on with the connections that it has
 *
 * A connection to a half that is full is closed at once. uWS neither says which connections are idle nor closes
 * one of them from outside, but it closes all those of an app: so each half is an app of its own. A half that
 * has requests in flight is not closed for `graceMs`. The price: above half of the bound connections that are kept
 * alive end early, as they may at any time. Under 600 idle connections that come back at once, 7 of 10 requests
 * on new connections are answered, the others are reset (measured with 200 places).
 *
 * The port is listened on with SO_REUSEPORT, by other threads too: that no other process does is made sure before
 * (port.ts). Without it a half could not listen while connections of the other are open.
 *
 * Nothing is closed in an immediate: uSockets then never frees the 480 bytes of a connection (measured, 20.0.8).
 */
import { setImmediate as nextCycle } from 'node:timers/promises';
import * as uWS from 'uWebSockets.js';
import type { Clock } from '../model/clock.ts';
import type { TlsFiles } from './tls-files.ts';
import { createApp } from './uws-app.ts';

/** Requests of a half that is to be closed may take this long. */
const graceMs = 1_000;
const graceStepMs = 50;
/** After the port could not be listened on again. */
const retryMs = 100;
/** A cycle of the event loop that had next to nothing to do; in a busy loop it may be longer, the longer `leave` has waited. */
const shortCycleMs = 0.05;
const cycleMsPerMsWaited = 0.02;
const leaveMsMax = 500;

export interface ListenerOptions {
  readonly host: string;
  /** 0 = any free port, on which uWS cannot listen twice: for tests without a bound. */
  readonly port: number;
  /** Absent or with empty names: without TLS. */
  readonly tls?: TlsFiles;
  /** Open at the same time; absent = as many as come. */
  readonly connectionsMax?: number;
  /** Called for each app before it listens, at most twice. */
  readonly attach: (app: uWS.TemplatedApp, half: Half) => void;
  /** Called for every connection made (+1) and lost (-1). Not a filter of its own: each one costs a connection 1.4 µs. */
  readonly onConnection?: (response: uWS.HttpResponse, change: number) => void;
}

/** The connections of one app. */
export class Half {
  readonly app: uWS.TemplatedApp;
  listenSocket: uWS.us_listen_socket | undefined;
  open = 0;
  /** Requests that are not answered yet: counted by those who answer them. */
  inFlight = 0;

  constructor(app: uWS.TemplatedApp) {
    this.app = app;
  }

  stopListening(): void {
    if (this.listenSocket !== undefined) uWS.us_listen_socket_close(this.listenSocket);
    this.listenSocket = undefined;
  }
}

export class Listener {
  readonly #options: ListenerOptions;
  readonly #halfMax: number;
  #young: Half;
  /** Made when it is first needed. */
  #old: Half | undefined;
  #port: number;
  #rotation: NodeJS.Timeout | undefined;
  #waitedMs = 0;
  #isStopped = false;
  #isLeaving = false;
  /** Connections closed because their places were needed, or because there were none. */
  shed = 0;

  constructor(options: ListenerOptions) {
    this.#options = options;
    this.#port = options.port;
    this.#halfMax = Math.max(1, Math.floor((options.connectionsMax ?? Infinity) / 2));
    this.#young = this.#createHalf();
  }

  /** The one in use, once it listens. */
  get port(): number {
    return this.#port;
  }
  get open(): number {
    return this.#young.open + (this.#old?.open ?? 0);
  }

  /** Also again, after `stopListening` or during `leave`. */
  listen(done: (isListening: boolean) => void): void {
    this.#isStopped = false;
    this.#isLeaving = false;
    if (this.#young.listenSocket !== undefined) done(true);
    else this.#listen(this.#young, done);
  }

  /**
   * Stops listening when no connection waits to be accepted, as far as can be told: the kernel resets those, also where
   * another process listens on the port, unless net.ipv4.tcp_migrate_req is 1. They are accepted when the loop polls, so
   * the moment is just after that, before anything else is done, in a cycle that was short.
   * @param clock absent = after the next whole cycle
   */
  async leave(clock?: Clock): Promise<void> {
    this.#isLeaving = true;
    let waitedMs = 0;
    for (let beganMs: number | undefined; this.#isLeaving && waitedMs < leaveMsMax;) {
      await nextCycle();
      const nowMs = clock?.monotonicMs() ?? 0;
      const cycleMs = beganMs === undefined ? Infinity : nowMs - beganMs;
      if (cycleMs < shortCycleMs + waitedMs * cycleMsPerMsWaited) break;
      if (beganMs !== undefined) waitedMs += cycleMs;
      beganMs = nowMs;
    }
    if (this.#isLeaving) this.stopListening();
  }

  /** Open connections go on. */
  stopListening(): void {
    this.#isStopped = true;
    this.#isLeaving = false;
    clearTimeout(this.#rotation);
    this.#young.stopListening();
  }

  /** Closes every connection now. */
  close(): void {
    this.stopListening();
    this.#young.app.close();
    this.#old?.app.close();
  }

  #createHalf(): Half {
    const half = new Half(createApp(this.#options.tls));
    this.#options.attach(half.app, half);
    half.app.filter((response, change) => this.#count(half, response, change));
    return half;
  }

  #listen(half: Half, done: (isListening: boolean) => void): void {
    half.app.listen(this.#options.host, this.#port, (socket) => {
      if (socket !== false) {
        half.listenSocket = socket;
        this.#port = uWS.us_socket_local_port(socket);
      }
      done(socket !== false);
    });
  }

  #count(half: Half, response: uWS.HttpResponse, change: number): void {
    this.#options.onConnection?.(response, change);
    half.open += change;
    if (change < 0 || half.open < this.#halfMax) return;
    this.#rotation ??= this.#isStopped ? undefined : setTimeout(this.#rotate, 0);
    if (half.open === this.#halfMax) return;
    this.shed += 1;
    response.close();
  }

  /** The old half is closed and becomes the young one. */
  readonly #rotate = (): void => {
    this.#rotation = undefined;
    const young = this.#young;
    if (young.open < this.#halfMax) return;
    const old = (this.#old ??= this.#createHalf());
    if (old.inFlight > 0 && this.#waitedMs < graceMs) {
      this.#waitedMs += graceStepMs;
      this.#rotation = setTimeout(this.#rotate, graceStepMs);
      return;
    }
    this.#waitedMs = 0;
    const { open } = old;
    old.app.close();
    // In the midst of a TLS handshake one may be left: it goes on in the young half.
    this.shed += open - old.open;
    young.stopListening();
    [this.#young, this.#old] = [old, young];
    this.#listenAgain();
  };

  readonly #listenAgain = (): void => {
    this.#rotation = undefined;
    this.#listen(this.#young, (isListening) => {
      if (!isListening) this.#rotation = setTimeout(this.#listenAgain, retryMs);
    });
  };
}
