/**
 * How long tests wait for what happens by itself: for `expect.poll` and `vi.waitFor`, whose own second is too
 * short for a thread, a commit or a sync on a machine that is busy. It ends a hang and nothing else: what
 * comes, comes at once. However long it takes, what asks the API meanwhile stays below the 600 requests that a
 * minute of the plan has: refused, it would not see what it waits for.
 */
export const soon = { timeout: 30_000, interval: 60 };
