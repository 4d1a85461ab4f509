/**
 * How long tests wait for what happens by itself: for `expect.poll` and `vi.waitFor`, whose own second is too
 * short for a thread, a commit or a sync on a machine that is busy. It ends a hang and nothing else: what
 * comes, comes at once.
 */
export const soon = { timeout: 30_000, interval: 20 };
