/**
 * One realistic event of each kind: what the test operation sends, what the receivers' page and the API
 * reference show. Ids are those of things that do not exist.
 */
import { isoTime } from '../../model/day.ts';
import type { EventData, EventEnvelope, EventKind } from '../../model/event.ts';

const tail = '01k3zq8m4hd2v7c5x9ab';
const qrCodeId = `qr_${tail}`;
const campaignId = `cmp_${tail}`;
const userId = `usr_${tail}`;
const workspaceId = `ws_${tail}`;
const watched = {
  watchId: `wch_${tail}`,
  incidentId: `inc_${tail}`,
  qrCodeId,
  campaignId: null,
  name: 'Menu, table 4',
};
const failing = { ...watched, target: 'https://example.com/menu' };

const sampleData = {
  'qr.created': {
    id: qrCodeId,
    type: 'url',
    target: 'https://example.com/menu',
    dynamic: true,
    shortUrl: 'https://qr.example.com/K7RM2X9D',
    createdBy: userId,
  },
  'qr.updated': {
    id: qrCodeId,
    before: { target: 'https://example.com/menu' },
    after: { target: 'https://example.com/winter-menu' },
    updatedBy: userId,
  },
  'qr.deleted': { id: qrCodeId, deletedBy: userId },
  'qr.scanned': {
    qrId: qrCodeId,
    scannedAt: '2026-03-01T12:00:00.000Z',
    country: 'DE',
    city: 'Leipzig',
    device: 'mobile',
    os: 'iOS',
    referer: null,
    route: 'app-store',
  },
  'qr.silent': {
    ...watched,
    since: '2026-02-28T12:00:00.000Z',
    hours: 24,
    expectedScans: 41.5,
    scans: 0,
  },
  'qr.spiked': {
    ...watched,
    since: '2026-03-01T11:00:00.000Z',
    expectedScans: 12.3,
    scans: 184,
  },
  'qr.target_failed': {
    ...failing,
    since: '2026-03-01T11:00:00.000Z',
    status: 404,
    fault: 'status',
  },
  'qr.target_recovered': { ...failing, since: '2026-03-01T11:00:00.000Z', status: 200 },
  'campaign.created': {
    id: campaignId,
    name: 'Spring menu',
    startDate: '2026-03-01',
    endDate: '2026-03-31',
    qrCodeIds: [qrCodeId],
  },
  'campaign.ended': {
    id: campaignId,
    totalScans: 1284,
    uniqueScanners: 973,
    conversionRate: 0.125,
  },
  'subscription.created': {
    workspaceId,
    plan: 'pro',
    interval: 'month',
    amount: 29,
    currency: 'EUR',
  },
  'subscription.updated': {
    workspaceId,
    before: { plan: 'pro' },
    after: { plan: 'business' },
  },
  'subscription.canceled': {
    workspaceId,
    effectiveAt: '2026-03-31T00:00:00.000Z',
    reason: 'The season is over',
  },
  'member.invited': {
    workspaceId,
    email: 'jane@example.com',
    role: 'editor',
    invitedBy: userId,
  },
  'member.joined': { workspaceId, userId, role: 'editor' },
} as const satisfies Readonly<Record<EventKind, EventData>>;

/** @param nowMs of QR code events: when it happened */
export function sampleEvent(kind: EventKind, id: string, nowMs: number): EventEnvelope {
  const at = isoTime(nowMs);
  const data: EventData = sampleData[kind];
  const createdAt = kind.startsWith('qr.') ? { createdAt: at } : {};
  const scannedAt = kind === 'qr.scanned' ? { scannedAt: at } : {};
  return { id, event: kind, ...createdAt, data: { ...data, ...scannedAt } };
}
