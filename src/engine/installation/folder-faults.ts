/**
 * Which parts fit together. A start marks the parts in this order, each step on the disk before the next:
 *
 *   management.mdb {run n + 1, token, previous, opening} -> scans.mdb, delivery.mdb, journal {token}
 *     -> management.mdb {opened}
 *
 * so whatever is cut short leaves one of these, and everything else is refused:
 *
 *   management.mdb   another part may be
 *   missing, empty   missing, all of them: a new folder
 *   new              missing, empty, without mark and data, with this token: the first start goes on
 *   no mark          without a mark: data of an older release; all parts exist once there are codes
 *   adopting         without a mark, with this token: marking that data goes on
 *   opening          with the previous token, with this token: this start's marking goes on
 *   opened           with this token
 *
 *   part with        is
 *   another id       of another installation
 *   a lower run      older than management.mdb: an earlier copy was put back
 *   a higher run     newer: it is management.mdb that is older
 *   the same run     of a copy of this folder that went on by itself
 *
 * A backup gives its copies one mark (`markBackup`), whatever they had, so parts of two backups do not mix.
 */
import type { ManagementMark, Mark } from '../../store/installation.ts';
import {
  type FolderParts,
  type PartName,
  type PartState,
  type PeerName,
  peerNames,
} from './folder-parts.ts';
import { compareKeys, type KeyFileName, keyFileNames } from './key-files.ts';

/**
 * What `quietzone repair` does about a part: begin it anew, with what is there set aside; keep it as it is, and mark
 * it; or nothing, where only a backup helps.
 */
export type Remedy = 'anew' | 'keep' | 'restore';

export interface Fault {
  readonly part: PartName;
  /** What was found, as a clause: `is missing`. */
  readonly found: string;
  readonly remedy: Remedy;
  /** It is there, and cannot be read. */
  readonly isDamaged?: true;
}

export const faultText = ({ part, found }: Fault): string => `${part} ${found}`;

/** new = to be made; unmarked = of an older release, to be marked. */
export type FolderKind = 'new' | 'unmarked' | 'marked';

export interface FolderState {
  readonly kind: FolderKind;
  readonly faults: readonly Fault[];
}

export function compareParts(parts: FolderParts): FolderState {
  const { management, mark, peers } = parts;
  if (mark !== undefined) return { kind: 'marked', faults: markedFaults(parts, mark) };
  const isMade = management.kind === 'unmarked' && management.hasData;
  if (isMade || management.kind === 'damaged') return unmarkedFolder(parts);
  const isAlone =
    !parts.hasLeftovers &&
    peerNames.every((name) => isNothing(name, peers[name])) &&
    keyFileNames.every((name) => parts.keyFiles[name].kind === 'missing');
  if (isAlone) return { kind: 'new', faults: [] };
  const found = management.kind === 'missing' ? 'is missing' : 'is empty';
  return { kind: 'marked', faults: [lost(found), ...absentFaults(parts)] };
}

const lost = (found: string): Fault => ({ part: 'management.mdb', found, remedy: 'restore' });

const isNothing = (name: PeerName, state: PartState): boolean =>
  state.kind === 'missing' || (name === 'journal' && state.kind === 'unmarked' && !state.hasData);

/** Of a release without marks: nothing tells whose a part is, but that it is there. */
function unmarkedFolder(parts: FolderParts): FolderState {
  const { management, peers, codes, workspaces } = parts;
  const faults: Fault[] = [];
  if (management.kind === 'damaged')
    faults.push({ ...lost(`is damaged: ${management.reason}`), isDamaged: true });
  const marked = peerNames.filter((name) => peers[name].kind === 'marked');
  if (marked.length > 0 && management.kind !== 'damaged') {
    faults.push(lost(`has no mark of an installation, ${marked.join(' and ')} has one`));
  }
  const scans = peers['scans.mdb'];
  if (codes === 0 && scans.kind === 'unmarked' && scans.hasData && faults.length === 0) {
    faults.push(lost('has no codes, scans.mdb has scans'));
  }
  const isNeeded = (part: PartName): boolean =>
    codes > 0 || management.kind === 'damaged' || (part === 'signing-keys.json' && workspaces > 0);
  // Damage is a fault of a part that need not exist, too.
  faults.push(...absentFaults(parts).filter(({ part, isDamaged }) => isNeeded(part) || isDamaged));
  return { kind: 'unmarked', faults };
}

/** Parts that are missing, empty or cannot be read. */
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
  if (state.kind === 'missing') return { part, found: 'is missing', remedy: 'anew' };
  if (state.kind === 'empty') return { part, found: 'is empty', remedy: 'anew' };
  if (state.kind !== 'damaged') return undefined;
  const found = `is damaged: ${state.reason ?? ''}`;
  return { part, found, remedy: 'anew', isDamaged: true };
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
    return [lost('is of another installation than what lies beside it'), ...absentFaults(parts)];
  }
  const isNewer = ({ id, run }: Mark): boolean => id === mark.id && run > mark.run;
  if (isEach(isNewer)) {
    const found = 'is an older copy than what lies beside it';
    const older: Fault = { part: 'management.mdb', found, remedy: 'keep' };
    const absent = absentFaults(parts).filter(({ part }) => !keys.some((key) => key.part === part));
    return [older, ...absent, ...keys];
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
    const isAllowed = mark.state === 'adopting' || (isNew && !state.hasData);
    const found = 'has no mark of an installation';
    return isAllowed ? undefined : { part, found, remedy: 'anew' };
  }
  const found = state.mark;
  if (found.id !== mark.id) {
    return { part, found: 'is of another installation', remedy: 'anew' };
  }
  const isPrevious = mark.state === 'opening' && found.token === mark.previous;
  if (found.token === mark.token || isPrevious) return undefined;
  return { part, found: copyText(found.run - mark.run), remedy: 'keep' };
}

function copyText(runsAhead: number): string {
  if (runsAhead === 0) return 'is of a copy of this folder that went on by itself';
  return `is ${runsAhead < 0 ? 'an older' : 'a newer'} copy than management.mdb`;
}

function keyFaults(parts: FolderParts, mark: ManagementMark, part: KeyFileName): Fault[] {
  const file = parts.keyFiles[part];
  if (file.kind !== 'present') {
    const isAllowed = mark.state === 'new' && file.kind === 'missing';
    const fault = absentFault(part, file);
    return fault === undefined || isAllowed ? [] : [fault];
  }
  const { changed, same, removed } = compareKeys(part, file.prints, parts.keyPrints);
  const isUnknown = same.length === 0 && removed.length > 0;
  if (changed.length === 0 && !isUnknown) return [];
  const found =
    part === 'visitor.key' || changed.length === 0
      ? 'is not the one that management.mdb knows'
      : `has another secret for ${changed.join(', ')} than management.mdb knows`;
  return [{ part, found, remedy: 'anew' }];
}
