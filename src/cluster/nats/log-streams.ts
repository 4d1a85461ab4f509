/** The streams of the two logs of changes, each with one subject. That of scans is in scans/scan-messages.ts. */
export type LogName = 'core' | 'delivery';

/** In the order in which a leader takes them. */
export const logNames: readonly LogName[] = ['core', 'delivery'];

export interface LogStream {
  readonly stream: string;
  readonly subject: string;
}

export const logStream = (name: LogName): LogStream => ({
  stream: streamOf(name),
  subject: `qz.${name}`,
});

export const streamOf = (name: LogName): string => name.toUpperCase();
