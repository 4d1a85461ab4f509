/** Codes with rules, below what the API checks: their records and links as a change writes them. */
import type { Codes } from '../../../src/codes/codes.ts';
import type { QrCodeRecord } from '../../../src/model/code.ts';
import type { Routing } from '../../../src/model/routing/routing.ts';
import { packCode } from '../../../src/store/management/code-codec.ts';
import type { Management } from '../../../src/store/management/management.ts';
import { routingOf } from '../../links/routed.ts';

/** @param fields undefined = plain again */
export async function route(
  store: Management,
  codes: Codes,
  code: QrCodeRecord,
  fields: Partial<Routing> | undefined,
): Promise<QrCodeRecord> {
  const { routing: _, ...plain } = code;
  const routed = fields === undefined ? plain : { ...plain, routing: routingOf(fields) };
  await store.environment.transaction(() => {
    store.codes.put(code.no, packCode(routed));
    codes.links.write(routed);
  });
  codes.links.publish(routed);
  return routed;
}
