/** Of two processes under one name. */
export const ownNameRemedy =
  'give each machine a cluster.nodeName and an empty data folder of its own';

/** A machine cannot be the node that it should be: the message is for the operator. */
export class NodeError extends Error {
  override readonly name: string = 'NodeError';
}
