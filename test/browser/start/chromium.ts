/**
 * The browser out of its npm package: unpacked once per checkout and version, with the system libraries and
 * fonts that a machine with only Node may lack.
 *
 * The package unpacks into the folder for temporary files under fixed names, which two test files at once
 * would run half-written. Here each unpacks into a folder of its own, and the first to be done gives it its
 * name: a rename is all or nothing.
 */
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { inflate } from '@sparticuz/chromium';

const cacheFolder = fileURLToPath(
  new URL('../../../node_modules/.cache/quietzone-tests/', import.meta.url),
);
const packageFolder = fileURLToPath(new URL('../', import.meta.resolve('@sparticuz/chromium')));

export interface UnpackedBrowser {
  readonly executable: string;
  /** What its process needs beside this one's environment. */
  readonly environment: Readonly<Record<string, string>>;
}

/** Called by vitest before the files of a browser: their workers would all unpack it. */
export const setup = async (): Promise<void> => void (await unpackChromium());

export async function unpackChromium(): Promise<UnpackedBrowser> {
  const description: { readonly version: string } = JSON.parse(
    await readFile(join(packageFolder, 'package.json'), 'utf8'),
  );
  const folder = join(cacheFolder, `chromium-${description.version}`);
  if (!existsSync(folder)) {
    await mkdir(cacheFolder, { recursive: true });
    await unpackInto(folder);
  }
  const fonts = existsSync('/etc/fonts/fonts.conf')
    ? {}
    : { FONTCONFIG_FILE: join(folder, 'fonts.conf') };
  return {
    executable: join(folder, 'chromium'),
    environment: { LD_LIBRARY_PATH: join(folder, 'al2023', 'lib'), ...fonts },
  };
}

async function unpackInto(folder: string): Promise<void> {
  const own = await mkdtemp(`${folder}-`);
  const { TMPDIR } = process.env;
  process.env.TMPDIR = own;
  try {
    const packs = ['chromium.br', 'al2023.tar.br', 'fonts.tar.br'];
    await Promise.all(packs.map((name) => inflate(join(packageFolder, 'bin', name))));
  } finally {
    if (TMPDIR === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = TMPDIR;
  }
  await writeFile(join(own, 'fonts.conf'), fontsOf(folder));
  try {
    await rename(own, folder);
  } catch (error) {
    // Somebody was faster: theirs is as good.
    await rm(own, { recursive: true });
    if (!existsSync(folder)) throw error;
  }
}

const fontsOf = (folder: string): string => `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
<dir>${join(folder, 'fonts')}</dir>
<cachedir>${join(folder, 'font-cache')}</cachedir>
</fontconfig>
`;
