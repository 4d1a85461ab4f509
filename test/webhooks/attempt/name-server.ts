/** A real DNS server on loopback that answers as scripted: honestly, in turns, or never. */
import { isIPv4 } from 'node:net';
import dns2 from 'dns2';

/** The addresses of a name, of both families; `silent` lets the question time out. */
type Answer = readonly string[] | 'silent';

export interface NameServer {
  /** `address:port`, as c-ares takes it. */
  readonly address: string;
  /** Names asked for, once per record type. */
  readonly questions: readonly string[];
  close(): Promise<void>;
}

export async function openNameServer(answer: (name: string) => Answer): Promise<NameServer> {
  const { Packet } = dns2;
  const questions: string[] = [];
  const server = dns2.createServer({
    udp: true,
    handle: (request, send) => {
      const response = Packet.createResponseFromRequest(request);
      for (const question of request.questions) {
        questions.push(question.name);
        const found = answer(question.name);
        if (found === 'silent') return;
        for (const address of found) {
          const type = isIPv4(address) ? Packet.TYPE.A : Packet.TYPE.AAAA;
          if (type !== question.type) continue;
          const record = { type, class: Packet.CLASS.IN, ttl: 0, address };
          response.answers.push(Packet.createResourceFromQuestion(question, record));
        }
      }
      void send(response);
    },
  });
  const { udp } = await server.listen({ udp: { port: 0, address: '127.0.0.1' } });
  const port = typeof udp === 'object' ? udp.port : 0;
  return { address: `127.0.0.1:${port}`, questions, close: () => server.close() };
}
