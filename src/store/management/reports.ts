/**
 * The tables of shared reports and digests, in the management environment.
 *
 *   reports              "rep_…"                                              -> ReportRecord
 *   workspace_reports    [workspaceNo, "rep_…"]                               -> 1: the list
 *   report_tokens        SHA-256 of the token, base64url                      -> "rep_…"
 *   digests              ["usr_…", workspaceNo]                               -> DigestRecord
 *   digest_tokens        SHA-256 of the token, base64url                      -> ["usr_…", workspaceNo]
 *   digests_due          [dueAtMs, "usr_…", workspaceNo]                      -> 1: the durable timer, one a digest
 *
 * A revoked report is removed. The tokens themselves are stored nowhere: they are made of ids under a key that is not in
 * this file (src/reports/link-tokens.ts).
 */
import type { DigestRecord, ReportRecord } from '../../model/reports/report.ts';
import type { StoreEnvironment } from '../environment.ts';

export function openReportTables(environment: StoreEnvironment) {
  return {
    reports: environment.table<string, ReportRecord>('reports'),
    workspaceReports: environment.set<[number, string]>('workspace_reports'),
    reportTokens: environment.table<string, string>('report_tokens'),
    digests: environment.table<[string, number], DigestRecord>('digests'),
    digestTokens: environment.table<string, readonly [string, number]>('digest_tokens'),
    digestsDue: environment.set<[number, string, number]>('digests_due'),
  };
}
