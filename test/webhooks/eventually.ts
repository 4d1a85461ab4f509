/** Waits for something that happens by itself. @throws when it does not within 45 s */
export async function eventually(
  isSo: () => boolean | Promise<boolean>,
  what: string,
): Promise<void> {
  const deadlineMs = performance.now() + 45_000;
  while (!(await isSo())) {
    if (performance.now() > deadlineMs) throw new Error(`Not so within 45 s: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}
