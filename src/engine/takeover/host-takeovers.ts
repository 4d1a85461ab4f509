/**
 * The running service accepts connections on the folder's lock: of commands (../commands/host-commands.ts), and of successors,
 * one at a time (successor-connection.ts).
 */
import type { Socket } from 'node:net';
import { HostedCommands } from '../commands/host-commands.ts';
import type { CommandTable } from '../commands/command-table.ts';
import type { Logger } from '../../telemetry/log.ts';
import { type FolderLock, pidNamespace, refuseSuccessor } from './folder-lock.ts';
import type { DataVersions, TakeoverMessage } from './messages.ts';
import { SuccessorConnection, type TakeoverHost } from './successor-connection.ts';

/** Connections without a first message. */
const askedMax = 16;
const askMsDefault = 20_000;

export interface Hosting {
  /** Refuses new commands; resolves when those that run have ended. */
  endCommands(): Promise<void>;
  /** A takeover under way ends with the process. */
  close(): Promise<void>;
}

export function hostTakeovers(
  lock: FolderLock,
  host: TakeoverHost,
  log: Logger,
  table: CommandTable = {},
  askMsMax = askMsDefault,
): Hosting {
  const commands = new HostedCommands(table, log);
  const connected = new Set<SuccessorConnection>();
  let current: SuccessorConnection | undefined;
  const refusalOf = (hello: TakeoverMessage): string | undefined => {
    if (current !== undefined) return 'another takeover is under way';
    if (hello.pidNamespace !== pidNamespace()) {
      return 'the running service is in another container; stop it, then start this one';
    }
    return host.refusal ?? versionRefusal(host.dataVersions, hello.dataVersions);
  };
  const onConnection = (socket: Socket): void => {
    if (connected.size >= askedMax) return refuseSuccessor(socket);
    const successor = new SuccessorConnection(socket, {
      host,
      log,
      askMsMax,
      admit: (admitted, hello) => {
        const refusal = refusalOf(hello);
        if (refusal === undefined) current = admitted;
        return refusal;
      },
      onCommand: (channel, message) => commands.run(channel, message),
      beforeYield: () => commands.close(),
      onOver: (over) => {
        connected.delete(over);
        if (current === over) current = undefined;
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
    },
  };
}

const storeNames = ['management', 'scans', 'delivery'] as const;

/** Two releases can use one folder only if both write the same versions of its stores. */
function versionRefusal(own: DataVersions, theirs: DataVersions): string | undefined {
  const name = storeNames.find((store) => own[store] !== theirs[store]);
  if (name === undefined) return undefined;
  return `this release writes version ${theirs[name]} of ${name}.mdb, the running one ${own[name]}; stop it, then start this one`;
}
