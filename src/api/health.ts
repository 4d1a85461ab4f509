/**
 * /health/live: the process answers. /health/ready: it should get traffic, otherwise 503 with the reasons.
 * Open to everyone, so they say what is wrong, not where.
 */
import type { Reply } from '../platform/uws/request.ts';
import type { HealthReport } from '../platform/health.ts';

const headers = { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' };

export function liveReply(): Reply {
  return { status: 200, headers, body: JSON.stringify({ status: 'live' }) };
}

export function readyReply(report: HealthReport): Reply {
  const body = {
    status: report.ready ? 'ready' : 'not_ready',
    reasons: report.checks.filter((check) => !check.ok).map((check) => check.detail),
    checks: report.checks,
  };
  return { status: report.ready ? 200 : 503, headers, body: JSON.stringify(body) };
}
