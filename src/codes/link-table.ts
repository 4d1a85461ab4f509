/**
 * The port through which a committed change reaches the redirect threads. The shared-memory table of
 * `links/` stands behind it; `put` and `retire` are visible to every redirect thread when they return.
 */
import type { Link } from '../links/layout.ts';

export interface LinkTable {
  put(link: Link): void;
  retire(key: string): void;
}
