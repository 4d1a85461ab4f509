/** Commands of a core. One that changes something runs on the core that leads; another core passes it on. */
import type {
  ChangingCommands,
  CommandControl,
  CommandTable,
} from '../../app/commands/command-table.ts';
import { DataFolderError } from '../../app/folder/data-folder.ts';
import { Failure, messageOf } from '../../model/failure.ts';
import type { MachineProof } from '../machine-proof.ts';
import type { ClusterStatus } from './cluster-status.ts';
import { askCore } from './node-control.ts';

/** The leader runs a command for so long: a handover takes 10 s at most, an import of 512 KB some seconds. */
const answerMsMax = 60_000;

type Command = CommandTable[string];
export interface NodeCommandsOptions {
  readonly proof: Pick<MachineProof, 'headersOf'>;
  readonly status: () => Pick<ClusterStatus, 'node' | 'role' | 'leader'>;
}

interface NodeTables {
  /** For the operator of this machine. */
  readonly own: CommandTable;
  /** For other cores: a command is passed on once. */
  readonly others: CommandTable;
}

export function nodeTables(
  commands: ChangingCommands,
  { proof, status }: NodeCommandsOptions,
): NodeTables {
  const pass = async (name: string, input: unknown, control: CommandControl): Promise<unknown> => {
    const seen = status();
    const { leader } = seen;
    if (leader === null) throw notLeading(seen);
    const signal = AbortSignal.any([control.signal, AbortSignal.timeout(answerMsMax)]);
    try {
      const command = { type: 'command', name, input } as const;
      return await askCore({ url: leader.url, proof, signal }, command);
    } catch (error) {
      // An abort here does not stop the leader.
      const isStopped = control.signal.aborted;
      const isAnswer = error instanceof Failure || error instanceof DataFolderError;
      if (isAnswer && !isStopped) throw error;
      const why = isStopped ? 'this node stopped first' : messageOf(error);
      throw new Failure(
        'outcome_unknown',
        `${leader.name}, which leads, did not answer: ${why}. Check whether the command took effect before you run it again`,
      );
    }
  };
  const tableWith = (onStandby: typeof pass): CommandTable =>
    Object.fromEntries(
      Object.entries(commands).map(([name, { changes, run }]): [string, Command] => [
        name,
        (input, control) =>
          changes && status().role !== 'active'
            ? onStandby(name, input, control)
            : run(input, control),
      ]),
    );
  return {
    own: tableWith(pass),
    others: tableWith(() => Promise.reject(notLeading(status()))),
  };
}

const notLeading = ({ node, leader }: ReturnType<NodeCommandsOptions['status']>): Failure =>
  new Failure(
    'not_active',
    `Cannot run this on ${node}: ${leader?.name ?? 'no known core'} leads; run the command again`,
  );
