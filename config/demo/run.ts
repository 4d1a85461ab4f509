/**
 * `npm run cluster:demo -- [--folder cluster-demo]`: a cluster on this machine, three brokers and three nodes, to try what
 * happens when some of them die. It takes commands until it is ended with Ctrl-C; the folder can be deleted afterwards.
 *
 * A nats-server is searched in PATH, else one is fetched (fetch-nats-server.ts).
 */
import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';
import { Demo } from './demo.ts';
import { findNatsServer, type Missing, type NatsServer } from './nats-server.ts';

const help = `
  kill active       the node that leads; another one takes over
  kill node 2       this node
  kill broker 2     this broker; two of three go on
  kill brokers      all of them: links still work, changes wait
  start             whatever is down
  status            who leads, and what runs
  quit              stops everything (Ctrl-C)
`;

const { values } = parseArgs({ options: { folder: { type: 'string', default: 'cluster-demo' } } });
const say = (line: string): void => void process.stdout.write(`${line}\n`);
const server = await serverHere();
if ('missing' in server) {
  say(server.missing);
  process.exit(1);
}
const demo = await Demo.open(resolve(values.folder), server, say);
const terminal = createInterface({
  input: process.stdin,
  output: process.stdout,
  prompt: 'demo> ',
});
let ending: Promise<void> | undefined;
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => void end());
terminal.on('SIGINT', () => void end());
terminal.on('close', () => void end());
/** One after the other, as they were typed. */
let done = Promise.resolve();
terminal.on('line', (line) => void (done = done.then(() => command(line))));
for (const line of await demo.status()) say(`  ${line}`);
if (demo.owner !== undefined) say(`\n${demo.owner.replace(/^/gm, '  ')}`);
say(help);
terminal.prompt();

async function serverHere(): Promise<NatsServer | Missing> {
  const found = await findNatsServer();
  if (!('missing' in found)) return found;
  say('Fetching a nats-server …');
  const script = fileURLToPath(new URL('./fetch-nats-server.ts', import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [script]);
  say(stdout.trim());
  return await findNatsServer();
}

async function command(line: string): Promise<void> {
  // What the text of the documentation says can be typed as it is.
  const words = line.trim().replace(/^demo +/, '');
  const [, what, no] = /^kill (active|brokers?|node) ?([1-3])?$/.exec(words) ?? [];
  if (words === 'quit') return end();
  if (words === 'status') for (const row of await demo.status()) say(`  ${row}`);
  else if (words === 'start') demo.startAll();
  else if (what === 'active') await kill('active');
  else if (what === 'brokers') await demo.killBrokers();
  else if (what === 'broker' && no !== undefined) await demo.killBrokers(Number(no));
  else if (what === 'node' && no !== undefined) await kill(Number(no));
  else if (words !== '') say(help);
  terminal.prompt();
}

async function kill(which: 'active' | number): Promise<void> {
  const active = await demo.active();
  const node = which === 'active' ? active : demo.nodes[which - 1];
  if (node === undefined || !node.isUp) {
    say(which === 'active' ? 'no node leads now' : `node${which} is down`);
    return;
  }
  await node.kill();
  say(`${node.name} is killed${node === active ? ', which led' : ''}`);
  if (node !== active) return;
  try {
    const { node: next, ms } = await demo.waitForLeader();
    say(
      `${next.name} leads ${(ms / 1_000).toFixed(1)} s later; ${node.name} comes back with: start`,
    );
  } catch (error) {
    say(error instanceof Error ? error.message : String(error));
  }
}

function end(): Promise<void> {
  ending ??= (async () => {
    say('\nStopping …');
    await demo.close();
    process.exit(0);
  })();
  return ending;
}
