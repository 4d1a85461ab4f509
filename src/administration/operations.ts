/** Every operation by its name: the commands ask for them, a running service carries them out. */
import type { z } from 'zod';
import type { CommandTable } from '../engine/commands/command-table.ts';
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

/** @param replaced operations that a node of a cluster carries out in its own way */
export function commandTable(
  administration: Administration,
  replaced: Partial<Record<OperationName, CommandTable[string]>> = {},
): CommandTable {
  const own = Object.entries<Operation>(operations).map(
    ([name, { run }]): [string, CommandTable[string]] => [
      name,
      (input, control) => run(administration, input, control),
    ],
  );
  return { ...Object.fromEntries(own), ...replaced };
}
