/** A machine cannot be the node that it should be: the message is for the operator. */
export class NodeError extends Error {
  override readonly name: string = 'NodeError';
}
