/**
 * The tables of watches, in the management environment: what was found of a watch, its incident and the event of it
 * commit together.
 *
 *   watches            "wch_…"                                              -> WatchRecord
 *   workspace_watches  [workspaceNo, "wch_…"]                               -> PackedSubject: the list, and its filter
 *   watch_findings     "wch_…"                                              -> WatchFindings
 *   watch_scans_due    [dueMs, "wch_…"]                                     -> 1: the durable timers
 *   watch_target_due   [dueMs, "wch_…"]                                     -> 1
 *   watch_incidents    [workspaceNo, "inc_…"]                               -> IncidentRecord
 *   watch_open         [workspaceNo, "inc_…"]                               -> 1: incidents that have not ended
 *   watch_letters      [atMs, workspaceNo, "inc_…", "begun" | "ended", "usr_…"]  -> 1: mail that was not handed over
 *   watch_running      "service"                                                  -> RunningRecord
 *
 * Ids are ordered by time, so a list is newest first when it is walked backwards.
 */
import type {
  IncidentRecord,
  RunningRecord,
  WatchFindings,
  WatchRecord,
} from '../../model/watches/watch.ts';
import type { StoreEnvironment } from '../environment.ts';

/** What a list filters by, without decoding the record: the id of the code or campaign, empty = the workspace. */
export type PackedSubject = readonly [subjectId: string];

export type LetterKey = [
  atMs: number,
  workspaceNo: number,
  incidentId: string,
  what: 'begun' | 'ended',
  userId: string,
];

export function openWatchTables(environment: StoreEnvironment) {
  return {
    watches: environment.table<string, WatchRecord>('watches'),
    workspaceWatches: environment.table<[number, string], PackedSubject>('workspace_watches'),
    findings: environment.table<string, WatchFindings>('watch_findings'),
    scansDue: environment.set<[number, string]>('watch_scans_due'),
    targetDue: environment.set<[number, string]>('watch_target_due'),
    incidents: environment.table<[number, string], IncidentRecord>('watch_incidents'),
    open: environment.set<[number, string]>('watch_open'),
    letters: environment.set<LetterKey>('watch_letters'),
    running: environment.table<string, RunningRecord>('watch_running'),
  };
}

export type WatchTables = ReturnType<typeof openWatchTables>;
