/** Verb and victim of each fault. `leader` is the broker that leads the stream, `active` the core that writes. */
export const faultKinds = [
  'kill-active',
  'kill-standby',
  'kill-cores',
  'pause-active',
  'pause-standby',
  'cut-active',
  'cut-standby',
  'kill-broker',
  'kill-leader',
  'kill-brokers',
  'pause-broker',
  'pause-leader',
] as const;
export type FaultKind = (typeof faultKinds)[number];
