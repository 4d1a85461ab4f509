/**
 * Compares the parts of a data folder with management.mdb. A start marks it {run n + 1, token, previous, opening}, then the
 * other parts, then {opened}, and syncs each step. A start that dies leaves one of these states; others are refused:
 *
 *   management.mdb   another part may be
 *   missing, empty   missing, without mark and data, all of them: a new folder
 *   new              missing, empty, without mark and data, with this token: the first start continues
 *   opening          with the previous token, with this token: the marking continues
 *   opened           with this token
 *
 *   part with        is
 *   another id       of another installation
 *   a lower run      older than management.mdb: an earlier copy was put back
 *   a higher run     newer than management.mdb, which is the older copy
 *   the same run     of a copy of this folder that another service has used
 *
 * A backup gives all of its copies one new mark (`backupMark`), so parts of two backups do not mix.
 */
import type { ManagementMark } from '../../store/installation.ts';
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
  const anew = '; without a backup, `quietzone serve --begin-anew scans` gives up all statistics';
  return `restore a backup (\`quietzone restore\`)${isScansLost(faults) ? anew : ''}`;
}

/** @returns an empty list if the parts fit, or before a first start (no mark) */
export function compareParts(parts: FolderParts): Fault[] {
  const { management, mark, peers, keyFiles } = parts;
  if (mark === undefined && isNew(parts)) return [];
  const faults =
    mark === undefined
      ? [
          managementFault(management),
          ...peerNames.map((part) => absentFault(part, peers[part])),
          ...keyFileNames.map((part) => absentFault(part, keyFiles[part])),
        ]
      : [
          ...peerNames.map((part) => peerFault(part, peers[part], mark)),
          ...keyFileNames.map((part) => keyFault(part, parts, mark)),
        ];
  return faults.filter((fault) => fault !== undefined);
}

const isNew = ({ management, peers, keyFiles, hasLeftovers }: FolderParts): boolean =>
  !hasLeftovers &&
  (management.kind === 'empty' || isNothing(management)) &&
  peerNames.every((name) => isNothing(peers[name])) &&
  keyFileNames.every((name) => keyFiles[name].kind === 'missing');

/** A first start makes a part, then marks it. */
const isNothing = (state: PartState): boolean =>
  state.kind === 'missing' || (state.kind === 'unmarked' && !state.hasData);

const unmarked = 'has no mark of an installation';

function managementFault(state: PartState): Fault {
  const found = state.kind === 'unmarked' && state.hasData ? unmarked : 'is empty';
  return absentFault('management.mdb', state) ?? { part: 'management.mdb', found };
}

function absentFault(
  part: PartName,
  state: { readonly kind: string; readonly reason?: string },
): Fault | undefined {
  if (state.kind === 'missing') return { part, found: 'is missing' };
  if (state.kind === 'empty') return { part, found: 'is empty' };
  if (state.kind !== 'damaged') return undefined;
  return { part, found: `is damaged: ${state.reason ?? ''}`, isDamaged: true };
}

function peerFault(part: PeerName, state: PartState, mark: ManagementMark): Fault | undefined {
  const isFirstStart = mark.state === 'new';
  if (state.kind === 'unmarked') {
    return isFirstStart && !state.hasData ? undefined : { part, found: unmarked };
  }
  if (state.kind !== 'marked') {
    return isFirstStart && state.kind !== 'damaged' ? undefined : absentFault(part, state);
  }
  const { id, run, token } = state.mark;
  if (id !== mark.id) return { part, found: 'is of another installation' };
  const isPrevious = mark.state === 'opening' && token === mark.previous;
  if (token === mark.token || isPrevious) return undefined;
  if (run === mark.run) {
    return { part, found: 'is of a copy of this folder that another service has used' };
  }
  return { part, found: `is ${run < mark.run ? 'an older' : 'a newer'} copy than management.mdb` };
}

function keyFault(
  part: KeyFileName,
  { keyFiles, keyPrints }: FolderParts,
  mark: ManagementMark,
): Fault | undefined {
  const file = keyFiles[part];
  if (file.kind !== 'present') {
    const isAllowed = mark.state === 'new' && file.kind === 'missing';
    return isAllowed ? undefined : absentFault(part, file);
  }
  const known = [...file.prints.keys()].filter((key) => keyPrints.has(key));
  const changed = known.filter((key) => keyPrints.get(key) !== file.prints.get(key));
  const isUnknown = known.length === 0 && [...keyPrints.keys()].some((key) => key.startsWith(part));
  if (changed.length === 0 && !isUnknown) return undefined;
  const found =
    part === 'visitor.key' || isUnknown
      ? 'is not the key of management.mdb'
      : `has another secret for ${changed.join(', ')} than management.mdb knows`;
  return { part, found };
}
