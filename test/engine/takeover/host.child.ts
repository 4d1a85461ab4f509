/** A process that hosts takeovers of a folder, and hangs in one step. */
import { openDataFolder } from '../../../src/engine/data-folder.ts';
import { lockDataFolder } from '../../../src/engine/takeover/folder-lock.ts';
import { hostTakeovers } from '../../../src/engine/takeover/host-takeovers.ts';
import { systemClock } from '../../../src/system-clock.ts';
import { createLog } from '../../../src/telemetry/log.ts';
import { TestHost } from './conversation.ts';

const [path = '', hangs] = process.argv.slice(2);
const lock = await lockDataFolder(openDataFolder(path));
const host = new TestHost();
host.hold(hangs === 'yield' ? 'yield' : 'finish');
host.onCall = (call) => {
  if (call === hangs) process.send?.(call);
};
hostTakeovers(lock, host, systemClock, createLog('silent'));
process.on('message', () => undefined);
process.send?.('hosting');
