/** A code's record as an array: half the bytes and decoding time of a map (1.8 µs against 4.7). null = absent. */
import type { CodeType, QrCodeRecord } from '../../model/code.ts';
import type { Design } from '../../model/design.ts';
import type { CodeNo, WorkspaceNo } from '../../model/numbers.ts';
import type { Routing } from '../../model/routing/routing.ts';

export type PackedCode = readonly [
  id: string,
  workspaceNo: WorkspaceNo,
  workspaceId: string,
  type: CodeType,
  target: string,
  dynamic: boolean,
  shortCode: string | null,
  name: string | null,
  tags: readonly string[],
  expiresAtMs: number | null,
  scanLimit: number | null,
  metadata: Readonly<Record<string, unknown>> | null,
  externalId: string | null,
  createdAtMs: number,
  updatedAtMs: number,
  createdBy: string,
  deletedAtMs: number | null,
  design: Design | null,
  routing: Routing | null,
];

/** Indexes into the packed form, for readers of a few fields of many codes. */
export const packedField = {
  id: 0,
  workspaceNo: 1,
  type: 3,
  target: 4,
  dynamic: 5,
  shortCode: 6,
  name: 7,
  tags: 8,
  externalId: 12,
  deletedAtMs: 16,
} as const;

export function packCode(code: QrCodeRecord): PackedCode {
  return [
    code.id,
    code.workspaceNo,
    code.workspaceId,
    code.type,
    code.target,
    code.dynamic,
    code.shortCode ?? null,
    code.name ?? null,
    code.tags,
    code.expiresAtMs ?? null,
    code.scanLimit ?? null,
    Object.keys(code.metadata).length === 0 ? null : code.metadata,
    code.externalId ?? null,
    code.createdAtMs,
    code.updatedAtMs,
    code.createdBy,
    code.deletedAtMs ?? null,
    code.design ?? null,
    code.routing ?? null,
  ];
}

export function unpackCode(no: CodeNo, packed: PackedCode): QrCodeRecord {
  const [
    id,
    workspaceNo,
    workspaceId,
    type,
    target,
    dynamic,
    shortCode,
    name,
    tags,
    expiresAtMs,
    scanLimit,
    metadata,
    externalId,
    createdAtMs,
    updatedAtMs,
    createdBy,
    deletedAtMs,
    design,
    routing,
  ] = packed;
  return {
    id,
    no,
    workspaceId,
    workspaceNo,
    type,
    target,
    dynamic,
    ...(shortCode == null ? {} : { shortCode }),
    ...(name == null ? {} : { name }),
    tags,
    ...(expiresAtMs == null ? {} : { expiresAtMs }),
    ...(scanLimit == null ? {} : { scanLimit }),
    metadata: metadata ?? {},
    ...(externalId == null ? {} : { externalId }),
    ...(design == null ? {} : { design }),
    ...(routing == null ? {} : { routing }),
    createdAtMs,
    updatedAtMs,
    createdBy,
    ...(deletedAtMs == null ? {} : { deletedAtMs }),
  };
}
