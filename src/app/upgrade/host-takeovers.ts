/**
 * The running service's side of the folder's lock: it runs commands (../commands/host-commands.ts), and yields to one successor
 * at a time. messages.ts has the order and the rules.
 */
import { HostedCommands } from '../commands/host-commands.ts';
import type { CommandTable } from '../commands/command-table.ts';
import type { Logger } from '../../platform/log.ts';
import { Channel } from './channel.ts';
import { type FolderLock, refuseConnection } from '../folder/folder-lock.ts';
import { commandBytesMax, type DataVersions, type Message, protocol } from './messages.ts';
import { pidNamespace } from './predecessor-connection.ts';

/** The running service's steps for a successor. */
export interface TakeoverHost {
  readonly release: string;
  readonly dataVersions: DataVersions;
  readonly journals: readonly number[];
  readonly ports: readonly number[];
  /** The reason against a takeover, as the end of "Cannot take over: …". Undefined = allowed. */
  readonly refusal: string | undefined;
  /** True = it only redirects, and waits for its next successor. */
  readonly hasYielded: boolean;
  /** Ends all but redirects. If a successor dies, the next one calls it again. */
  yield(): Promise<void>;
  /** Stops listening. Resolves after the last write. */
  finish(): Promise<void>;
  /** The process may exit. */
  ended(): void;
  /** The successor has died after `yield`. */
  orphaned(): void;
}

export interface Hosting {
  /** Refuses new commands; resolves when the running ones have ended. */
  endCommands(): Promise<void>;
  /** A running takeover ends with the process. */
  close(): Promise<void>;
}

/** Connections that have not sent a message yet. */
const askedMax = 16;
const askMsDefault = 20_000;

export function hostTakeovers(
  lock: FolderLock,
  host: TakeoverHost,
  log: Logger,
  table: CommandTable = {},
  askMsMax = askMsDefault,
): Hosting {
  const commands = new HostedCommands(table, log);
  const asked = new Set<Channel>();
  let successor: Channel | undefined;

  const answer = async (channel: Channel): Promise<void> => {
    const first = await channel.receive(['command', 'status', 'takeover'], askMsMax);
    asked.delete(channel);
    if (first === 'gone' || first === 'late') return channel.destroy();
    if (first.type === 'command') return commands.run(channel, first);
    if (first.type === 'status') {
      return channel.sendLast({ type: host.hasYielded ? 'yielded' : 'running' });
    }
    const refusal = refusalOf(host, first, successor !== undefined);
    if (refusal !== undefined) {
      log.warn({ refusal, release: first.release }, 'takeover refused');
      return channel.sendLast({ type: 'refused', reason: `Cannot take over: ${refusal}` });
    }
    successor = channel;
    await yieldTo(channel, host, log.child({ release: first.release }), commands);
    // Stays after a takeover: this process cannot yield again.
    if (channel.isClosed) successor = undefined;
  };
  lock.onConnection = (socket) => {
    if (asked.size >= askedMax) return refuseConnection(socket);
    const channel = new Channel(socket, log, commandBytesMax);
    asked.add(channel);
    void answer(channel);
  };
  return {
    endCommands: () => commands.close(),
    close: async () => {
      await commands.close();
      lock.onConnection = undefined;
      for (const channel of asked) channel.destroy();
      successor?.unref();
    },
  };
}

async function yieldTo(
  successor: Channel,
  host: TakeoverHost,
  log: Logger,
  commands: HostedCommands,
): Promise<void> {
  log.info('takeover started, successor is booting');
  const { release, journals, ports } = host;
  successor.send({ type: 'accepted', release, pid: process.pid, journals, ports });
  if ((await successor.receive(['ready'])) === 'gone') return log.warn('successor died');
  log.info('successor ready, yielding');
  await commands.close();
  await host.yield();
  successor.send({ type: 'yielded' });
  log.info('yielded, redirecting until the successor listens');
  if ((await successor.receive(['listening'])) === 'gone') {
    log.error('successor died, redirecting until the next start');
    return host.orphaned();
  }
  log.info('successor listening, handing over redirects');
  await host.finish();
  successor.sendLast({ type: 'ended' });
  log.info('takeover complete');
  host.ended();
}

const storeNames = ['management', 'scans', 'delivery'] as const;

/** Two releases can use one folder only if both write the same versions of its stores. */
function refusalOf(
  host: TakeoverHost,
  hello: Message<'takeover'>,
  isTakenOver: boolean,
): string | undefined {
  if (hello.protocol !== protocol) {
    return `this release uses takeover protocol ${hello.protocol}, the running one ${protocol}; stop it, then start this one`;
  }
  if (isTakenOver) return 'another takeover is running';
  if (hello.pidNamespace !== pidNamespace()) {
    return 'the running service is in another container; stop it, then start this one';
  }
  if (host.refusal !== undefined) return host.refusal;
  const [own, theirs] = [host.dataVersions, hello.dataVersions];
  const name = storeNames.find((store) => own[store] !== theirs[store]);
  if (name === undefined) return undefined;
  return `this release writes version ${theirs[name]} of ${name}.mdb, the running one ${own[name]}; stop it, then start this one`;
}
