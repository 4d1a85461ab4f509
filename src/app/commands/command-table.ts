/** The commands of a running service; host-commands.ts runs them, ask-service.ts requests them. */

export interface CommandControl {
  /** Reports progress, as JSON. */
  readonly progress: (value: unknown) => void;
  /** Aborts when the client disconnects, or when the service stops or is upgraded. */
  readonly signal: AbortSignal;
}

/** By name: checks its input, and returns JSON. @throws Failure, DataFolderError with a text for the operator */
export type CommandTable = Readonly<
  Record<string, (input: unknown, control: CommandControl) => Promise<unknown>>
>;

/** The same, and whether a command changes data: in a cluster, the leader runs it. */
export type ChangingCommands = Readonly<
  Record<string, { readonly changes: boolean; readonly run: CommandTable[string] }>
>;
