/**
 * A core whose engine redirects. Each phase takes what the last one returns:
 *
 *   openFollowing    journals are exchanged; then a role may open (core-roles.ts)
 *   follow           the logs are followed, the node beats and registers
 *   release          at an end: another core may lead
 */
import { setTimeout as pause } from 'node:timers/promises';
import { answerJoins } from '../nodes/join.ts';
import type { Admission } from '../nodes/join-message.ts';
import { writeNodeFile } from '../nodes/node-file.ts';
import { journaledOf } from '../scans/cluster-counting.ts';
import { closeAll, type Closers } from '../../platform/closers.ts';
import { messageOf } from '../../model/failure.ts';
import type { Engine } from '../../app/open-engine.ts';
import { startRetention } from '../../app/services.ts';
import { joinAgain, listenMs } from './claim-start.ts';
import { type CoreExchange, openExchange } from './core-exchange.ts';
import type { CoreNode } from './core-node.ts';
import { BlockNotes } from '../scans/block-notes.ts';
import { Upkeep } from './upkeep.ts';

export interface FollowingCore extends CoreNode {
  readonly engine: Engine;
  readonly exchange: CoreExchange;
  /** Ends the work on its own store of scans, which it does in both roles. */
  readonly scans: Closers;
  readonly upkeep: Upkeep;
}

/** Opens what needs the engine, which redirects by now. @param following closes after the engine */
export async function openFollowing(
  node: CoreNode,
  engine: Engine,
  following: Closers,
  closers: Closers,
): Promise<FollowingCore> {
  const { base, replication, beats } = node;
  const { codes, links: writer, threads } = engine;
  const exchange = await openExchange(node, engine, following);
  const isHeld = (): boolean => replication.isHeld;
  const isInContact = (): boolean => isHeld() || beats.coreUrls().length > 0;
  const { redirects } = threads;
  const upkeep = new Upkeep({ writer, links: codes.links, redirects, isInContact, log: base.log });
  closers.push(() => upkeep.close());
  return { ...node, engine, exchange, scans: [], upkeep };
}

export function follow(core: FollowingCore, closers: Closers): void {
  const { base, identity, engine, exchange, beats, replication, delivery } = core;
  const { refresher } = engine;
  const { tails } = engine.threads.journals;
  beats.start({
    linkNumber: () => refresher.seen,
    journaled: () => journaledOf(base.clock, identity, tails),
    mark: exchange.mark,
  });
  // What the log brings is in the link table before this node reports it.
  const followLinks = (): void => {
    refresher.refresh().then(
      () => beats.moved(),
      (error: unknown) => base.log.warn({ reason: messageOf(error) }, 'following links failed'),
    );
  };
  closers.push(base.management.environment.committed.listen(followLinks));
  startScans(core);
  replication.start();
  delivery.replication.start();
  register(core, closers);
}

function startScans({ base, identity, engine, scans, replication, delivery }: FollowingCore): void {
  const marks = new BlockNotes({
    base,
    scans: engine.scans,
    store: identity.node,
    deliveries: delivery.tables,
    isLeading: () => delivery.replication.isHeld,
  });
  marks.start();
  const retention = startRetention(base, engine, () => replication.isHeld);
  scans.push(
    () => retention.close(),
    () => marks.close(),
  );
}

/** Another core may lead from here on. */
export async function release({ scans, replication, delivery }: FollowingCore): Promise<void> {
  // Before the store of scans closes.
  const scansClosed = closeAll(scans);
  if (replication.isLeading) {
    delivery.release();
    await replication.releaseAtEnd();
  }
  await scansClosed;
}

/** Asks to be registered as it is now, and answers others while it leads. */
function register(
  { context, base, identity, nodes, keys, beats, replication }: CoreNode,
  closers: Closers,
): void {
  // By then it knows which names are in use.
  const listened = pause(listenMs, undefined, { ref: false });
  const ends = answerJoins({
    connection: context.connection,
    isLeading: () => replication.isHeld,
    join: (request) => listened.then(() => nodes.join(request)),
    tokenOf: (name, run) => keys.tokenOf(name, run),
    cores: () => [context.self.url, ...beats.coreUrls()],
    log: context.log,
  });
  closers.push(ends);
  const joined = ({ cluster, journals, run }: Admission): void => {
    const { role } = context.config.cluster;
    writeNodeFile(base.folder.path, { ...identity, cluster, role, journals, run });
  };
  closers.push(joinAgain(context, identity, joined));
}
