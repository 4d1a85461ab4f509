/** The API port of an edge: health, and a word for those who look for more. */
import { liveReply, readyReply } from '../../api/health.ts';
import { problemReply } from '../../api/problem.ts';
import type { Handler, Reply, Request } from '../../http/request.ts';
import { Failure } from '../../model/failure.ts';
import type { HealthReport } from '../../telemetry/health.ts';

export interface EdgeServerOptions {
  readonly health: () => HealthReport;
  readonly docsUrl: string;
}

export function createEdgeHandler({ health, docsUrl }: EdgeServerOptions): Handler {
  const refuse = (request: Request, failure: Failure): Reply =>
    problemReply(failure, request, docsUrl);
  const handle = async (request: Request): Promise<Reply> => {
    const { method, path } = request;
    const isRead = method === 'GET' || method === 'HEAD';
    if (isRead && path === '/health/live') return liveReply();
    if (isRead && path === '/health/ready') return readyReply(health());
    const detail = 'This is an edge of a cluster: the API and the dashboard are on its cores';
    return refuse(request, new Failure('not_found', detail));
  };
  return { handle, refuse };
}
