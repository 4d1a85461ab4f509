/**
 * Keeps the plain lines that picture libraries print on standard error out of the log, which is JSON.
 *
 * fontconfig complains where no configuration is installed (slim containers) or no cache can be written (a
 * hardened systemd unit): it gets a file of ours, which includes the system's where there is one, and a cache in
 * the data folder. libvips prints no warnings; sharp hands them to the program. The libraries read
 * these variables when they load, in the pool's threads, so they are set before those start.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { escapeHtml } from '../../model/text.ts';

const systemFile = '/etc/fonts/fonts.conf';
const fontFolders = ['/usr/share/fonts', '/usr/local/share/fonts'];

/**
 * Writes fontconfig's settings to `cache/` of the data folder.
 * @param inherited the file that FONTCONFIG_FILE named when the process began
 * @returns variables to set; undefined = to remove
 */
export function libraryVariables(
  dataDir: string,
  inherited = systemFile,
): Record<string, string | undefined> {
  const quiet = {
    // The number that raster.ts sets: libvips complains of another number at its start.
    VIPS_CONCURRENCY: '1',
    VIPS_WARNING: '0',
    // GLib complains of a longer side; ours is bounded by logo.ts.
    VIPS_MAX_COORD: '2147483647',
    VIPS_INFO: undefined,
    G_MESSAGES_DEBUG: undefined,
  };
  const folder = join(dataDir, 'cache');
  const file = join(folder, 'fonts.conf');
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    writeFileSync(file, fontSettings(join(folder, 'fonts'), inherited));
  } catch {
    // A full disk: pictures are drawn all the same.
    return quiet;
  }
  return { ...quiet, FONTCONFIG_FILE: file };
}

function fontSettings(cache: string, included: string): string {
  const folders = fontFolders.map((path) => `<dir>${path}</dir>`).join('');
  return (
    '<?xml version="1.0"?>\n<!DOCTYPE fontconfig SYSTEM "urn:fontconfig:fonts.dtd">\n' +
    `<fontconfig><cachedir>${escapeHtml(cache)}</cachedir>${folders}` +
    `<include ignore_missing="yes">${escapeHtml(included)}</include></fontconfig>\n`
  );
}
