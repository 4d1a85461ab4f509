/** Commands in this process, and services that run given commands for them. */
import { run } from '../../src/operations/run.ts';
import { dataFolderAt } from '../../src/app/folder/data-folder.ts';
import { FolderLock } from '../../src/app/folder/folder-lock.ts';
import { hostTakeovers } from '../../src/app/upgrade/host-takeovers.ts';
import { createLog } from '../../src/platform/log.ts';
import { TestHost } from '../app/upgrade/conversation.ts';

type Commands = Parameters<typeof hostTakeovers>[3];

/** A service on the folder. @returns stops it */
export async function serve(dataDir: string, commands: Commands): Promise<() => Promise<void>> {
  const lock = await FolderLock.take(dataFolderAt(dataDir));
  const hosting = hostTakeovers(lock, new TestHost(), createLog('silent'), commands);
  return async () => {
    await hosting.close();
    await lock.unlock();
  };
}

/** What a command says, by where it says it. */
export async function runHere(
  words: readonly string[],
  environment: Readonly<Record<string, string>>,
  command = run,
) {
  const [result, progress]: [string[], string[]] = [[], []];
  const code = await command([...words], {
    result: (text) => void result.push(text),
    show: () => Promise.resolve(),
    progress: (text) => void progress.push(text),
    environment,
  });
  return { code, result: result.join('\n'), progress: progress.join('\n') };
}
