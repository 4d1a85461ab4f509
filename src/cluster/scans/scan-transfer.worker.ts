/**
 * Thread entry: sends this machine's journals to the cores, and on a core receives those of all others.
 *
 * It runs without brokers as well: then it tries to reach them, and own journals wait on the disk.
 */
import { assertInPlace } from '../../engine/journal/file-identity.ts';
import { JournalPositions } from '../../engine/journal/positions.ts';
import { systemClock, systemTimers } from '../../platform/system-clock.ts';
import { openThreadChannel } from '../../platform/workers/supervised-thread.ts';
import { beginNats } from '../nats/nats-connection.ts';
import { NatsLog } from '../nats/nats-log.ts';
import { keepStream } from '../nats/nats-stream.ts';
import { OwnJournals } from './own-journals.ts';
import { ReceivedJournals } from './received-journals.ts';
import {
  encodeRewind,
  readRewind,
  rewindSubject,
  scanStream,
  scanSubject,
  scanSubjects,
} from './scan-messages.ts';
import type {
  JournalOwner,
  ScanTransferCommand,
  ScanTransferFigures,
  ScanTransferMessage,
  ScanTransferSetup,
} from './scan-transfer.ts';

const figuresMs = 1_000;
/** Ended segments are synced: not more often than their age is known by. */
const rotateMs = 10_000;

const channel = openThreadChannel<ScanTransferSetup, ScanTransferMessage, ScanTransferCommand>();
const { setup, send } = channel;
const { nats, receive } = setup;

assertInPlace(setup.journalRoot);
const tails = new JournalPositions(setup.tails);
// Away at first: what is asked of the log is refused, and tried again, until brokers are reached.
const connection = beginNats(nats);
const subject = scanSubject(nats.nodeName);
const log = new NatsLog({ connection, stream: scanStream, subject });
let owners = byJournal(setup.owners);
let sent = '';

const own = new OwnJournals({
  ...setup,
  log,
  timers: systemTimers,
  root: setup.journalRoot.path,
  tails,
  arrived: new Map(setup.arrived),
});

const ownNumbers = new Set(setup.journals);
const received =
  receive &&
  new ReceivedJournals({
    ...receive,
    log,
    timers: systemTimers,
    root: setup.journalRoot,
    tails,
    isOwn: (journal) => ownNumbers.has(journal),
    isOwner: (journal, run, subject) => {
      const owner = owners.get(journal);
      return owner?.run === run && subject === scanSubject(owner.node);
    },
    onRefused: (journal, frames) =>
      send({ kind: 'refused', node: owners.get(journal)?.node ?? '', frames }),
    rewind,
    onMissed: (from, to) => send({ kind: 'missed', from, to }),
  });

// All nodes send again what a stream that was lost had. An edge may not ask about streams.
const stream = { stream: scanStream, subject: scanSubjects };
const kept = receive && keepStream(connection, { ...stream, ...receive }, systemTimers);

function byJournal(list: readonly JournalOwner[]): ReadonlyMap<number, JournalOwner> {
  return new Map(list.map((owner) => [owner.journal, owner]));
}

function rewind(journal: number, position: number): void {
  const owner = owners.get(journal);
  if (owner === undefined) return;
  connection.publish(rewindSubject(owner.node), encodeRewind({ journal, position }));
}

connection.subscribe(rewindSubject(nats.nodeName), (body) => {
  const request = readRewind(body);
  if (request !== undefined) own.rewind(request.journal, request.position);
});

function figures(): ScanTransferFigures {
  const { savedSeq = 0, readSeq = 0, behind = 0 } = received?.receiver ?? {};
  const { backlogBytes } = own;
  const found = [connection.problem ?? kept?.fault(), own.fault, received?.fault].filter(
    (fault) => fault !== undefined,
  );
  const faults = [...new Set(found)];
  return { backlogBytes, savedSeq, readSeq, behind, faults };
}

function sendFigures(): void {
  const now = figures();
  const text = JSON.stringify(now);
  if (text === sent) return;
  sent = text;
  send({ kind: 'figures', figures: now });
}

const timer = setInterval(() => {
  own.follow();
  sendFigures();
}, figuresMs);
const rotation = setInterval(() => void received?.rotate(systemClock.now()), rotateMs);

/** Own journals are sent until the process ends: a piece that comes twice counts once. */
async function stop(): Promise<void> {
  clearInterval(timer);
  clearInterval(rotation);
  kept?.stop();
  await received?.close();
  await connection.close();
  process.exit(0);
}

channel.onCommand((command) => {
  if (command.kind === 'owners') {
    owners = byJournal(command.owners);
  } else if (command.kind === 'arrived') {
    for (const [journal, position] of command.arrived) own.arrived(journal, position);
  } else {
    void stop();
  }
});
sendFigures();
own.follow();
received?.receiver.start();
