/** What a test may have left open. */
import { once } from 'node:events';
import { existsSync, readdirSync, readlinkSync, realpathSync } from 'node:fs';
import { connect } from 'node:net';
import { join, sep } from 'node:path';

/** Files below the folder that a process has open, this one by default; none where the system does not say. */
export function openFilesIn(folder: string, pid: number | 'self' = 'self'): string[] {
  const files = `/proc/${pid}/fd`;
  if (!existsSync(files) || !existsSync(folder)) return [];
  const root = realpathSync(folder) + sep;
  return readdirSync(files)
    .map((file) => targetOf(join(files, file)))
    .filter((target) => target.startsWith(root));
}

/** Empty for a file that was closed meanwhile. */
function targetOf(link: string): string {
  try {
    return readlinkSync(link);
  } catch {
    return '';
  }
}

export async function isListening(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
