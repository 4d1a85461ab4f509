/** Asks its service for leave to open the data files, and never opens them. */
import { connect } from 'node:net';
import { dataFolderAt } from '../../../src/engine/data-folder.ts';
import { lockPath } from '../../../src/engine/takeover/folder-lock.ts';
import { pidNamespace } from '../../../src/engine/takeover/kill-other.ts';
import { lineOf } from '../../../src/engine/takeover/messages.ts';

const socket = connect(lockPath(dataFolderAt(process.argv[2] ?? '')));
socket.write(lineOf({ type: 'open', pid: process.pid, pidNamespace: pidNamespace() }));
socket.once('data', () => process.send?.('held'));
