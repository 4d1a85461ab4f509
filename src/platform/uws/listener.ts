/**
 * A port of one thread with bounded connections: idle ones cannot use up the process's descriptors, nor lock out clients
 * that send requests.
 *
 *   accepting group   listens; when it is full, the retiring group is closed and becomes the accepting one
 *   retiring group    serves the connections that it has
 *
 * A connection to a full group is closed at once. uWS does not say which connections are idle and cannot close a single
 * one from outside, but it closes all connections of an app: so each group is an app. A group with requests in flight
 * gets `graceMs`. The price: above half of the limit, kept-alive connections end early, as they may at any time.
 * With 600 idle connections that reconnect at once and a limit of 200, 7 of 10 requests on new connections are
 * answered and the others are reset (measured).
 *
 * The port is shared with other threads (SO_REUSEPORT), but not with other processes (port.ts). Without the option a
 * group could not listen while the other has open connections.
 *
 * No connection is closed in an immediate: uSockets would never free its 480 bytes (measured, 20.0.8).
 */
import { setImmediate as nextCycle } from 'node:timers/promises';
import * as uWS from 'uWebSockets.js';
import type { Clock } from '../../model/clock.ts';
import type { TlsFiles } from './port.ts';
import { createApp } from './uws-app.ts';

/** Time for the requests of a group before it is closed. */
const graceMs = 1_000;
const graceStepMs = 50;
const retryMs = 100;
/** A cycle of the event loop with almost no work; the limit grows while `leave` waits. */
const shortCycleMs = 0.05;
const cycleMsPerMsWaited = 0.02;
const leaveMsMax = 500;

export interface ListenerOptions {
  readonly host: string;
  /** 0 = any free port, which excludes `connectionsMax`: uWS cannot listen on it twice. */
  readonly port: number;
  /** Absent or with empty names: without TLS. */
  readonly tls?: TlsFiles;
  readonly connectionsMax?: number;
  readonly attach: (app: uWS.TemplatedApp, group: ConnectionGroup) => void;
  /** Called for each new (+1) and closed (-1) connection. A second uWS filter would cost 1.4 µs per connection. */
  readonly onConnection?: (response: uWS.HttpResponse, change: number) => void;
}

export class ConnectionGroup {
  readonly app: uWS.TemplatedApp;
  listenSocket: uWS.us_listen_socket | undefined;
  open = 0;
  /** Unanswered requests; their server counts them. */
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
  readonly #groupMax: number;
  #accepting: ConnectionGroup;
  #retiring: ConnectionGroup | undefined;
  #port: number;
  #rotation: NodeJS.Timeout | undefined;
  #waitedMs = 0;
  #isStopped = false;
  #isLeaving = false;
  /** Connections closed because of `connectionsMax`. */
  shed = 0;

  constructor(options: ListenerOptions) {
    this.#options = options;
    this.#port = options.port;
    this.#groupMax = Math.max(1, Math.floor((options.connectionsMax ?? Infinity) / 2));
    this.#accepting = this.#createGroup();
  }

  get port(): number {
    return this.#port;
  }
  get open(): number {
    return this.#accepting.open + (this.#retiring?.open ?? 0);
  }

  /** May be called again after `stopListening` or during `leave`. */
  listen(done: (isListening: boolean) => void): void {
    this.#isStopped = false;
    this.#isLeaving = false;
    if (this.#accepting.listenSocket !== undefined) done(true);
    else this.#listen(this.#accepting, done);
  }

  /**
   * Stops listening at a moment when probably no connection waits to be accepted: the kernel resets those, even when
   * another process listens on the port, unless net.ipv4.tcp_migrate_req is 1. The loop accepts them when it polls, so
   * the moment is right after a poll, in a short cycle.
   * @param clock absent = after the next full cycle
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

  stopListening(): void {
    this.#isStopped = true;
    this.#isLeaving = false;
    clearTimeout(this.#rotation);
    this.#accepting.stopListening();
  }

  close(): void {
    this.stopListening();
    this.#accepting.app.close();
    this.#retiring?.app.close();
  }

  #createGroup(): ConnectionGroup {
    const group = new ConnectionGroup(createApp(this.#options.tls));
    this.#options.attach(group.app, group);
    group.app.filter((response, change) => this.#count(group, response, change));
    return group;
  }

  #listen(group: ConnectionGroup, done: (isListening: boolean) => void): void {
    group.app.listen(this.#options.host, this.#port, (socket) => {
      if (socket !== false) {
        group.listenSocket = socket;
        this.#port = uWS.us_socket_local_port(socket);
      }
      done(socket !== false);
    });
  }

  #count(group: ConnectionGroup, response: uWS.HttpResponse, change: number): void {
    this.#options.onConnection?.(response, change);
    group.open += change;
    if (change < 0 || group.open < this.#groupMax) return;
    this.#rotation ??= this.#isStopped ? undefined : setTimeout(this.#rotate, 0);
    if (group.open === this.#groupMax) return;
    this.shed += 1;
    response.close();
  }

  /** Closes the retiring group and swaps the two. */
  readonly #rotate = (): void => {
    this.#rotation = undefined;
    const accepting = this.#accepting;
    if (accepting.open < this.#groupMax) return;
    const retiring = (this.#retiring ??= this.#createGroup());
    if (retiring.inFlight > 0 && this.#waitedMs < graceMs) {
      this.#waitedMs += graceStepMs;
      this.#rotation = setTimeout(this.#rotate, graceStepMs);
      return;
    }
    this.#waitedMs = 0;
    const { open } = retiring;
    retiring.app.close();
    // A connection in its TLS handshake may be left; it stays in the group.
    this.shed += open - retiring.open;
    accepting.stopListening();
    [this.#accepting, this.#retiring] = [retiring, accepting];
    this.#listenAgain();
  };

  readonly #listenAgain = (): void => {
    this.#rotation = undefined;
    this.#listen(this.#accepting, (isListening) => {
      if (!isListening) this.#rotation = setTimeout(this.#listenAgain, retryMs);
    });
  };
}
