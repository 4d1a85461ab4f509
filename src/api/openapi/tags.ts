/** The groups of operations, in the order of the reference, and what each is about. */
export const tags = {
  'QR codes': 'Codes, their designs and images, one by one and in bulk.',
  Analytics: 'Scans of a code and of the workspace, counted and raw.',
  Events: 'Events of the workspace, as a list and as a live stream.',
  Campaigns: 'Codes with a schedule, their results, and conversions.',
  Reports: 'Links that show numbers to people without an account.',
  Alerts: 'Watches on codes, campaigns and the workspace, and their incidents.',
  Webhooks: 'Endpoints that receive events, deliveries and dead letters.',
  Team: 'Members of the workspace and invites.',
  'API keys': 'Keys for programs.',
  Workspaces: 'The workspaces of a user.',
  Sessions: 'Signing in and out, for the dashboard.',
  Billing: 'Plans, the subscription, checkouts and usage.',
  Cluster: 'The machines of a cluster.',
} as const satisfies Readonly<Record<string, string>>;

export type Tag = keyof typeof tags;
