/**
 * A client's own way to brokers, which a test can cut: a port on loopback for each broker, and all that passes between
 * is handed on. Cut, nothing passes and nothing is refused, as in a network that loses every packet: connections stay,
 * new ones are taken and not answered. Healed, what was sent meanwhile arrives, as TCP sends it again.
 */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

interface Connection {
  readonly ends: readonly [client: Socket, broker: Socket];
}

export class CuttablePath {
  readonly #listeners: readonly Server[];
  readonly #connections = new Set<Connection>();
  #isCut = false;

  private constructor(listeners: readonly Server[]) {
    this.#listeners = listeners;
  }

  static async open(ports: readonly number[]): Promise<CuttablePath> {
    const listeners = ports.map(() => createServer({ pauseOnConnect: true }));
    const path = new CuttablePath(listeners);
    for (const [index, listener] of listeners.entries()) {
      listener.on('connection', (client) => path.#join(client, ports[index]!));
      listener.listen(0, '127.0.0.1');
      await once(listener, 'listening');
    }
    return path;
  }

  /** In the order of the ports. */
  get urls(): readonly string[] {
    return this.#listeners.map(
      (listener) => `nats://127.0.0.1:${(listener.address() as AddressInfo).port}`,
    );
  }

  cut(): void {
    this.#isCut = true;
    for (const { ends } of this.#connections) for (const end of ends) end.pause();
  }

  heal(): void {
    this.#isCut = false;
    for (const { ends } of this.#connections) for (const end of ends) end.resume();
  }

  async close(): Promise<void> {
    const closed = this.#listeners.map((listener) => once(listener, 'close'));
    for (const listener of this.#listeners) listener.close();
    for (const { ends } of this.#connections) for (const end of ends) end.destroy();
    await Promise.all(closed);
  }

  #join(client: Socket, port: number): void {
    const broker = connect(port, '127.0.0.1');
    broker.pause();
    const connection: Connection = { ends: [client, broker] };
    this.#connections.add(connection);
    for (const [from, to] of [
      [client, broker],
      [broker, client],
    ] as const) {
      from.setNoDelay(true);
      from.on('data', (bytes) => this.#pass(bytes, from, to));
      // Its `close` comes next.
      from.on('error', () => undefined);
      from.on('close', () => {
        this.#connections.delete(connection);
        to.destroy();
      });
    }
    if (this.#isCut) return;
    client.resume();
    broker.resume();
  }

  #pass(bytes: Buffer, from: Socket, to: Socket): void {
    if (to.write(bytes)) return;
    from.pause();
    to.once('drain', () => {
      if (!this.#isCut) from.resume();
    });
  }
}
