/**
 * Compares the parts of a data folder. A start marks them in this order, and syncs each step before the next:
 *
 *   management.mdb {run n + 1, token, previous, opening} -> scans.mdb, delivery.mdb, journal {token}
 *     -> management.mdb {opened}
 *
 * A start that dies leaves one of these states; every other state is refused:
 *
 *   management.mdb   another part may be
 *   missing, empty   missing, without mark and data, all of them: a new folder
 *   new              missing, empty, without mark and data, with this token: the first start continues
 *   opening          with the previous token, with this token: the marking continues
 *   opened           with this token
 *
 *   part with        is
 *   another id       of another installation
 *   a lower run      older than management.mdb: somebody put back an earlier copy
 *   a higher run     newer than management.mdb, which is the older copy
 *   the same run     of a copy of this folder that another service has used
 *
 * A backup gives all of its copies one new mark (`backupMark`), so parts of two backups do not mix.
 */
import type { ManagementMark, Mark } from '../../store/installation.ts';
import {
  type FolderParts,
  type PartName,
  type PartState,
  type PeerName,
  peerNames,
} from './folder-parts.ts';
import { type KeyFileName, keyFileNames } from './key-files.ts';

export interface Fault {
  readonly part: PartName;
  /** A clause: `is missing`. */
  readonly found: string;
  readonly isDamaged?: true;
}

export const faultText = ({ part, found }: Fault): string => `${part} ${found}`;

export const isScansLost = (faults: readonly Fault[]): boolean =>
  faults.length > 0 && faults.every(({ part }) => part === 'scans.mdb');

export function remedyFor(faults: readonly Fault[]): string {
  const anew = '; without one, `quietzone serve --begin-anew scans` gives up all statistics';
  return `restore a backup (\`quietzone restore\`)${isScansLost(faults) ? anew : ''}`;
}

/** @returns none if the parts fit, or if no first start has begun (no mark) */
export function compareParts(parts: FolderParts): Fault[] {
  const { management, mark, peers } = parts;
  if (mark !== undefined) return markedFaults(parts, mark);
  const isNew =
    !parts.hasLeftovers &&
    (management.kind === 'empty' || isNothing(management)) &&
    peerNames.every((name) => isNothing(peers[name])) &&
    keyFileNames.every((name) => parts.keyFiles[name].kind === 'missing');
  return isNew ? [] : [managementFault(management), ...absentFaults(parts)];
}

function managementFault(state: PartState): Fault {
  const hasData = state.kind === 'unmarked' && state.hasData;
  const found = hasData ? 'has no mark of an installation' : 'is empty';
  return absentFault('management.mdb', state) ?? lost(found);
}

const lost = (found: string): Fault => ({ part: 'management.mdb', found });

/** A first start makes a part before it marks it. */
const isNothing = (state: PartState): boolean =>
  state.kind === 'missing' || (state.kind === 'unmarked' && !state.hasData);

function absentFaults({ peers, keyFiles }: FolderParts): Fault[] {
  const peerFaults = peerNames.map((part) => absentFault(part, peers[part]));
  const keyFaults = keyFileNames.map((part) => absentFault(part, keyFiles[part]));
  return [...peerFaults, ...keyFaults].filter((fault) => fault !== undefined);
}

interface Found {
  readonly kind: string;
  readonly reason?: string;
}

function absentFault(part: PartName, state: Found): Fault | undefined {
  if (state.kind === 'missing') return { part, found: 'is missing' };
  if (state.kind === 'empty') return { part, found: 'is empty' };
  if (state.kind !== 'damaged') return undefined;
  const found = `is damaged: ${state.reason ?? ''}`;
  return { part, found, isDamaged: true };
}

function markedFaults(parts: FolderParts, mark: ManagementMark): Fault[] {
  const { peers } = parts;
  const marked = peerNames.flatMap((name) => {
    const peer = peers[name];
    return peer.kind === 'marked' ? [peer.mark] : [];
  });
  const isEach = (holds: (peer: Mark) => boolean): boolean =>
    marked.length > 1 && marked.every(holds);
  const keys = keyFileNames.flatMap((name) => keyFaults(parts, mark, name));
  if (isEach(({ id }) => id !== mark.id && id === marked[0]?.id)) {
    return [lost('is of another installation than the other parts'), ...absentFaults(parts)];
  }
  const isNewer = ({ id, run }: Mark): boolean => id === mark.id && run > mark.run;
  if (isEach(isNewer)) {
    const found = 'is an older copy than the other parts';
    const absent = absentFaults(parts).filter(({ part }) => !keys.some((key) => key.part === part));
    return [lost(found), ...absent, ...keys];
  }
  const faults = peerNames.map((name) => peerFault(name, peers[name], mark));
  return [...faults.filter((fault) => fault !== undefined), ...keys];
}

function peerFault(part: PeerName, state: PartState, mark: ManagementMark): Fault | undefined {
  const isNew = mark.state === 'new';
  if (state.kind === 'missing' || state.kind === 'empty') {
    return isNew ? undefined : absentFault(part, state);
  }
  if (state.kind === 'damaged') return absentFault(part, state);
  if (state.kind === 'unmarked') {
    const found = 'has no mark of an installation';
    return isNew && !state.hasData ? undefined : { part, found };
  }
  const found = state.mark;
  if (found.id !== mark.id) {
    return { part, found: 'is of another installation' };
  }
  const isPrevious = mark.state === 'opening' && found.token === mark.previous;
  if (found.token === mark.token || isPrevious) return undefined;
  return { part, found: copyText(found.run - mark.run) };
}

function copyText(runsAhead: number): string {
  if (runsAhead === 0) return 'is of a copy of this folder that another service has used';
  return `is ${runsAhead < 0 ? 'an older' : 'a newer'} copy than management.mdb`;
}

function keyFaults(parts: FolderParts, mark: ManagementMark, part: KeyFileName): Fault[] {
  const file = parts.keyFiles[part];
  if (file.kind !== 'present') {
    const isAllowed = mark.state === 'new' && file.kind === 'missing';
    const fault = absentFault(part, file);
    return fault === undefined || isAllowed ? [] : [fault];
  }
  const { keyPrints } = parts;
  const known = [...file.prints.keys()].filter((key) => keyPrints.has(key));
  const changed = known.filter((key) => keyPrints.get(key) !== file.prints.get(key));
  const isUnknown = known.length === 0 && [...keyPrints.keys()].some((key) => key.startsWith(part));
  if (changed.length === 0 && !isUnknown) return [];
  const found =
    part === 'visitor.key' || changed.length === 0
      ? 'is not the one that management.mdb knows'
      : `has another secret for ${changed.join(', ')} than management.mdb knows`;
  return [{ part, found }];
}
