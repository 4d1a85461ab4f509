/**
 * The data folder of a demo: one of its own, so that no data of a person is ever written over. Its file `demo.json` says that
 * it is one, and how to sign in; it is there before anything else, so that a demo that was cut short can be made anew.
 *
 *   { "seed": 1, "email": "…", "password": "…", "receiverPort": 8082, "complete": true }
 */
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { DataFolderError, makeFolder } from '../../engine/data-folder.ts';
import { parseJson, readIfThere, replaceFile } from '../../engine/small-files.ts';

const fileName = 'demo.json';

export interface DemoMark {
  readonly seed: number;
  readonly email: string;
  /** Of all its people; generated. */
  readonly password: string;
  readonly receiverPort: number;
  /** False while it is made. */
  readonly complete: boolean;
}

/** @returns undefined where there is no demo; another program's file of this name says nothing about the folder */
export function readDemo(folder: string): DemoMark | undefined {
  const content = readIfThere(join(folder, fileName));
  if (content === undefined) return undefined;
  const mark = Object(parseJson(content.toString('utf8')));
  const field = (name: string): unknown => Reflect.get(mark, name);
  const [seed, receiverPort] = [Number(field('seed')), Number(field('receiverPort'))];
  const [email, password, complete] = [field('email'), field('password'), field('complete')];
  const isWhole = Number.isInteger(seed) && Number.isInteger(receiverPort);
  if (!isWhole || typeof email !== 'string' || typeof password !== 'string') return undefined;
  return typeof complete === 'boolean'
    ? { seed, email, password, receiverPort, complete }
    : undefined;
}

export const writeDemo = (folder: string, mark: DemoMark): void =>
  replaceFile(join(folder, fileName), JSON.stringify(mark));

/**
 * An empty folder, or none.
 * @param over what to do with a demo that is there @throws DataFolderError for anything else
 */
export function clearFolder(given: string, over: 'refuse' | 'make anew'): string {
  const folder = resolve(given);
  const names = existsSync(folder) ? readdirSync(folder) : [];
  const found = names.length === 0 ? undefined : readDemo(folder);
  if (names.length > 0 && found === undefined) {
    throw new DataFolderError(
      `Cannot make a demo in ${folder}: it has other files, expected a folder of its own; name one with --dir`,
    );
  }
  if (found?.complete === true && over === 'refuse') {
    throw new DataFolderError(
      `Cannot make a demo in ${folder}: there is one; serve it with --existing, or make it anew with --again`,
    );
  }
  makeFolder(folder);
  // The mark stays: what is left of a removal that is cut short is still a demo. The cache serves the next one.
  for (const name of names.filter((one) => one !== fileName && one !== 'cache')) {
    rmSync(join(folder, name), { recursive: true, force: true });
  }
  return folder;
}
