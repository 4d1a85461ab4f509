/** Every operation by its name: commands request them, a running service runs them. */
import type { z } from 'zod';
import type { ChangingCommands, CommandTable } from '../commands/command-table.ts';
import type { Administration } from './administration.ts';
import { importOperations } from './import-operations.ts';
import type { Operation } from './operation.ts';
import { peopleOperations } from './people-operations.ts';
import { planOperations } from './plan-operations.ts';

const operations = { ...peopleOperations, ...planOperations, ...importOperations };

type Operations = typeof operations;
export type OperationName = keyof Operations;
export type InputOf<Name extends OperationName> = z.input<Operations[Name]['input']>;
export type ResultOf<Name extends OperationName> = Awaited<ReturnType<Operations[Name]['run']>>;

export const findOperation = (name: OperationName): Operation => operations[name];

/** For a node of a cluster, which passes changes on to its leader. */
export function commandsOf(administration: Administration): ChangingCommands {
  const entries = Object.entries<Operation>(operations).map(([name, { changes, run }]) => {
    const command: CommandTable[string] = (input, control) => run(administration, input, control);
    return [name, { changes, run: command }] as const;
  });
  return Object.fromEntries(entries);
}

export const commandTable = (administration: Administration): CommandTable =>
  Object.fromEntries(
    Object.entries(commandsOf(administration)).map(([name, { run }]) => [name, run]),
  );
