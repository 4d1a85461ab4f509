/** One operation of a command. Its input is checked as the API checks a body; its result is JSON. */
import type { z } from 'zod';
import { check, validationFailure } from '../../api/kernel/faults.ts';
import type { CommandControl } from '../commands/command-table.ts';
import type { Administration } from './administration.ts';

export interface Operation<Input extends z.ZodType = z.ZodType, Result = unknown> {
  /** In a cluster, only the leader runs it. */
  readonly changes: boolean;
  readonly input: Input;
  /** @throws Failure */
  readonly run: (
    administration: Administration,
    input: unknown,
    control: CommandControl,
  ) => Promise<Result>;
}

export function operation<Input extends z.ZodType, Result>(
  kind: 'reads' | 'changes',
  input: Input,
  run: (
    administration: Administration,
    input: z.output<Input>,
    control: CommandControl,
  ) => Promise<Result> | Result,
): Operation<Input, Result> {
  return {
    changes: kind === 'changes',
    input,
    run: async (administration, given, control) => {
      const checked = check(input, given);
      if (!checked.ok) throw validationFailure(checked.faults, 'input');
      return await run(administration, checked.value, control);
    },
  };
}
