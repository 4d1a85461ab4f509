/** Names and roles of nodes, as other machines and files say them. */
import type { NodeRole } from '../../store/management/cluster.ts';

/** One token of a subject of NATS, and a part of an edge's token. */
const nodeNamePattern = /^[A-Za-z0-9_-]{1,63}$/;

export const isNodeName = (value: unknown): value is string =>
  typeof value === 'string' && nodeNamePattern.test(value);

export const isNodeRole = (value: unknown): value is NodeRole =>
  value === 'all' || value === 'core' || value === 'edge';
