/** A server that speaks as much of the protocol of NATS as a client needs to connect, and is what no real one may be. */
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';

export interface FakeNatsOptions {
  version: string;
  /** What comes of a question. */
  answers: 'no responders' | 'never' | 'forbidden';
}

export class FakeNats {
  /** Counts for what connects and asks from now on. */
  readonly options: FakeNatsOptions;
  /** What the last client said of itself, as JSON. */
  introduction = '';
  readonly #sockets = new Set<Socket>();
  readonly #server: Server;

  constructor(options: FakeNatsOptions) {
    this.options = options;
    this.#server = createServer((socket) => this.#serve(socket));
  }

  async listen(): Promise<void> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
  }

  get host(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Ends its connections, not itself. */
  drop(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async close(): Promise<void> {
    this.drop();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #serve(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on('close', () => this.#sockets.delete(socket));
    socket.on('error', () => {});
    const { version } = this.options;
    const info = { server_id: 'X', version, proto: 1, headers: true, max_payload: 1_048_576 };
    socket.write(`INFO ${JSON.stringify(info)}\r\n`);
    let sid = '';
    let rest = '';
    socket.on('data', (data) => {
      const lines = (rest + String(data)).split('\r\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        const [command, first, second, third] = line.split(' ');
        if (command === 'CONNECT') this.introduction = line.slice('CONNECT '.length);
        if (command === 'PING') socket.write('PONG\r\n');
        if (command === 'SUB') sid = third ?? second ?? '';
        if (command === 'PUB' || command === 'HPUB')
          socket.write(this.#answer(sid, first ?? '', second ?? ''));
      }
    });
  }

  #answer(sid: string, subject: string, reply: string): string {
    const { answers } = this.options;
    if (answers === 'never') return '';
    if (answers === 'forbidden')
      return `-ERR 'Permissions Violation for Publish to "${subject}"'\r\n`;
    const headers = 'NATS/1.0 503\r\n\r\n';
    return `HMSG ${reply} ${sid} ${headers.length} ${headers.length}\r\n${headers}\r\n`;
  }
}
