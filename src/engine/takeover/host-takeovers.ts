/**
 * The running service accepts connections on the folder's lock: of commands (../commands/host-commands.ts), of successors, one
 * at a time (successor-connection.ts), and of processes that open the data files (../opening/host-openings.ts).
 */
import type { Socket } from 'node:net';
import type { Clock } from '../../model/clock.ts';
import type { Logger } from '../../telemetry/log.ts';
import { type FolderLock, refuseSuccessor } from './folder-lock.ts';
import { pidNamespace } from './kill-other.ts';
import type { DataVersions, TakeoverMessage } from './messages.ts';
import {
  SuccessorConnection,
  type TakeoverHost,
  type TakeoverTimes,
} from './successor-connection.ts';
import { HostedCommands } from '../commands/host-commands.ts';
import type { CommandTable } from '../commands/command-table.ts';
import { HostedOpenings } from '../opening/host-openings.ts';

export const takeoverTimes: TakeoverTimes = {
  askMsMax: 20_000,
  listenMsMax: 30_000,
  tailsEveryMs: 50,
  openMsMax: 5_000,
  lastMsMax: 1_000,
};

/** Connections without a first message. */
const askedMax = 16;

export interface Hosting {
  /** Refuses new commands; resolves when those that run have ended. */
  endCommands(): Promise<void>;
  /** A takeover under way ends with the process. */
  close(): Promise<void>;
}

export function hostTakeovers(
  lock: FolderLock,
  host: TakeoverHost,
  clock: Clock,
  log: Logger,
  times: TakeoverTimes = takeoverTimes,
  table: CommandTable = {},
): Hosting {
  const commands = new HostedCommands(table, log);
  const openings = new HostedOpenings(lock.folder, log, times.openMsMax);
  const connected = new Set<SuccessorConnection>();
  let current: SuccessorConnection | undefined;
  const refusalOf = (hello: TakeoverMessage): string | undefined => {
    if (current !== undefined) return `another takeover is under way, by process ${current.pid}`;
    if (hello.pidNamespace !== pidNamespace()) {
      return 'the running service is in another container; stop it, then start this one';
    }
    return host.refusal ?? versionRefusal(host.dataVersions, hello.dataVersions);
  };
  const onConnection = (socket: Socket): void => {
    if (connected.size >= askedMax) return refuseSuccessor(socket);
    const successor = new SuccessorConnection(socket, {
      host,
      clock,
      log,
      times,
      admit: (admitted, hello) => {
        const refusal = refusalOf(hello);
        if (refusal === undefined) current = admitted;
        return refusal;
      },
      onCommand: (channel, message) => commands.run(channel, message),
      onOpen: (channel, message) => openings.admit(channel, message),
      beforeYield: async () => {
        await Promise.all([commands.pause(), openings.pause()]);
      },
      onOver: (over) => {
        connected.delete(over);
        if (current !== over) return;
        current = undefined;
        commands.resume();
        openings.resume();
      },
    });
    connected.add(successor);
  };
  lock.onConnection = onConnection;
  return {
    endCommands: () => commands.close(),
    close: async () => {
      await commands.close();
      if (lock.onConnection === onConnection) lock.onConnection = undefined;
      for (const successor of connected) successor.stop();
      await openings.close();
    },
  };
}

const storeNames = ['management', 'scans', 'delivery'] as const;

/** Two releases can use one folder only if both write the same versions of its stores. */
function versionRefusal(own: DataVersions, theirs: DataVersions): string | undefined {
  const changes = storeNames.filter((name) => own[name] !== theirs[name]);
  if (changes.length === 0) return undefined;
  const text = changes
    .map((name) => `${name}.mdb from version ${own[name]} to ${theirs[name]}`)
    .join(', ');
  return changes.every((name) => theirs[name] >= own[name])
    ? `this release would convert the data (${text}), which the running one could not follow; stop it, then start this one`
    : `this release is older than the data of the running one, and would need it converted back (${text}); restore a backup of its time`;
}
