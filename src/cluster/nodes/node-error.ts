/** Of two processes under one name. */
export const ownNameRemedy =
  'give each machine a cluster.nodeName and an empty data folder of its own';

/** For the operator. @param url of the other one's API, where it is known */
export const doubleDetail = (name: string, url: string): string =>
  `Cannot run as ${name}: another process that started earlier runs under this name${url && `, at ${url}`}; ${ownNameRemedy}`;

/** A machine cannot be the node that it should be: the message is for the operator. */
export class NodeError extends Error {
  override readonly name: string = 'NodeError';
}
