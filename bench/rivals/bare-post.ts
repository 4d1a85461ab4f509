/**
 * The floor for deliveries: undici's pool in a loop, one POST of a constant body after the other on each
 * connection, nothing stored, signed or checked.
 */
import { Pool } from 'undici';
import type { PostOrder } from '../loads/peers.ts';

const body = (bytes: number): Buffer => Buffer.alloc(bytes, 0x2a);
const headers = { 'content-type': 'application/json', 'user-agent': 'bare' };
let pool: Pool | undefined;

async function run({ port, connections, count, bytes }: PostOrder): Promise<void> {
  pool ??= new Pool(`http://127.0.0.1:${port}`, { connections, pipelining: 1 });
  const to = pool;
  const constant = body(bytes);
  let left = count;
  const loop = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      const answer = await to.request({ path: '/', method: 'POST', headers, body: constant });
      if (answer.statusCode !== 200) throw new Error(`Wrong answer: ${answer.statusCode}`);
      await answer.body.dump();
    }
  };
  await Promise.all(Array.from({ length: connections }, loop));
}

process.on('message', (order: PostOrder) => {
  void run(order).then(() => process.send?.({ done: true }));
});
process.on('disconnect', () => process.exit());
process.send?.({ ready: true });
