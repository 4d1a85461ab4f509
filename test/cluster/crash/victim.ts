/** A process that is killed, frozen and cut off from the brokers. */
export interface Victim {
  readonly name: string;
  readonly isUp: boolean;
  readonly kill: () => Promise<void>;
  readonly start: () => void;
  readonly pause: () => void;
  readonly resume: () => void;
  readonly cut: () => void;
  readonly heal: () => void;
}
