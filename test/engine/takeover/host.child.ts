/** A process that hosts takeovers of a folder, and hangs while it finishes. */
import { openDataFolder } from '../../../src/engine/data-folder.ts';
import { lockDataFolder } from '../../../src/engine/takeover/folder-lock.ts';
import { hostTakeovers } from '../../../src/engine/takeover/host-takeovers.ts';
import { systemClock } from '../../../src/system-clock.ts';
import { createLog } from '../../../src/telemetry/log.ts';
import { TestHost } from './conversation.ts';

const lock = await lockDataFolder(openDataFolder(process.argv[2] ?? ''));
const host = new TestHost();
host.hold('finish');
hostTakeovers(lock, host, systemClock, createLog('silent'));
process.on('message', () => undefined);
process.send?.('hosting');
