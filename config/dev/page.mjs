/** The dashboard under `npm run dev`: reloads when it was built again (run.ts). */
void import('../../src/dashboard/main.tsx');

new EventSource('/dev/builds').addEventListener('message', () => location.reload());
