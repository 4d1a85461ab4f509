import type { LinkTable } from '../../../src/product/codes/links/link-table.ts';
import { keepScansLeft, type Link } from '../../../src/engine/links/layout.ts';

/** A link table that remembers the newest state of every link. */
export class RecordingLinks implements LinkTable {
  readonly live = new Map<string, Link>();
  readonly deleted = new Set<string>();
  readonly damaged = new Set<string>();

  bulkLoad(link: Omit<Link, 'scansLeft'>): void {
    this.put({ ...link, scansLeft: -1 });
  }
  put(link: Link): void {
    if (link.state !== 'live') {
      this.delete(link.key);
      if (link.state === 'damaged') this.damaged.add(link.key);
      return;
    }
    const isKept = link.scansLeft === keepScansLeft;
    const scansLeft = isKept ? (this.live.get(link.key)?.scansLeft ?? -1) : link.scansLeft;
    this.live.set(link.key, { ...link, scansLeft });
  }
  addScans(key: string, scans: number): void {
    const link = this.live.get(key);
    if (link !== undefined) this.live.set(key, { ...link, scansLeft: link.scansLeft + scans });
  }
  takeScansLeft(key: string): number | undefined {
    const link = this.live.get(key);
    if (link === undefined || link.scansLeft === -1) return undefined;
    this.live.set(key, { ...link, scansLeft: 0 });
    return link.scansLeft;
  }
  delete(key: string): void {
    this.live.delete(key);
    this.deleted.add(key);
  }
}
