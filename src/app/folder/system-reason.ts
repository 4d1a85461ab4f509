/** System errors of reads and writes, in words. */
import { DataFolderError } from './data-folder.ts';

const meanings: Readonly<Record<string, string>> = {
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota of this user is used up',
  EFBIG: 'its file system does not allow a file of that size',
  EACCES: 'this user may not write there',
  EPERM: 'this user may not write there',
  EROFS: 'it is mounted read-only',
  EIO: 'its disk cannot be read or written',
  ENODEV: 'its disk is missing',
  ENXIO: 'its disk is missing',
  ESTALE: 'its disk is missing',
  ENOTCONN: 'its disk is missing',
  EMFILE: 'this process has too many open files (ulimit -n)',
};

/** LMDB reports only the system's texts. */
const texts: ReadonlyArray<readonly [RegExp, string]> = [
  [/no space left/i, 'ENOSPC'],
  [/quota exceeded/i, 'EDQUOT'],
  [/file too large/i, 'EFBIG'],
  [/permission denied/i, 'EACCES'],
  [/read-only file system/i, 'EROFS'],
  [/input\/output error/i, 'EIO'],
  [/no such device/i, 'ENODEV'],
  [/no such file/i, 'ENOENT'],
  [/too many open files/i, 'EMFILE'],
];

/** The system's reason, for the operator; undefined for any other error. */
export function systemReason(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const { message } = error;
  const code =
    'code' in error && 'syscall' in error
      ? String(error.code)
      : texts.find(([text]) => text.test(message))?.[1];
  if (code === undefined) return undefined;
  const meaning = meanings[code];
  return meaning === undefined ? code : `${meaning} (${code})`;
}

/** A DataFolderError with the system's reason; any other error unchanged. */
export function inWords(error: unknown, message: (reason: string) => string): unknown {
  const reason = error instanceof DataFolderError ? undefined : systemReason(error);
  return reason === undefined ? error : new DataFolderError(message(reason));
}
