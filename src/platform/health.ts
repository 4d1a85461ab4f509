/** Health: named checks of the modules, run on each request. */
export interface HealthCheck {
  readonly name: string;
  /** For an operator, without secrets and paths of user data; undefined = healthy. */
  readonly problem: () => string | undefined;
  /** The service is ready in spite of the problem. */
  readonly isWarning?: true;
}

export interface HealthReport {
  readonly ready: boolean;
  readonly checks: ReadonlyArray<{
    readonly name: string;
    readonly ok: boolean;
    readonly detail: string;
  }>;
}

export function checkHealth(checks: readonly HealthCheck[]): HealthReport {
  let ready = true;
  const results = checks.map(({ name, problem, isWarning }) => {
    const detail = problem();
    if (detail !== undefined && isWarning !== true) ready = false;
    return { name, ok: detail === undefined, detail: detail ?? 'ok' };
  });
  return { ready, checks: results };
}
