/** Lets others have the thread: a service in this process goes on, and so do signals. @param bytes read since the last time */
export type Pause = (bytes?: number) => Promise<void>;
