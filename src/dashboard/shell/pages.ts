/**
 * The page of each address. All pages are one bundle: compressed, they are smaller than one photograph, and split
 * bundles would share so much that each page would take a dozen requests.
 */
import type { ComponentType } from 'preact';
import { AlertsPage } from '../pages/alerts/alerts-page.tsx';
import { AnalyticsPage } from '../pages/analytics/analytics-page.tsx';
import { BillingPage } from '../pages/billing/billing-page.tsx';
import { CheckoutPage } from '../pages/billing/checkout-page.tsx';
import { NewCampaignPage } from '../pages/campaigns/campaign-form.tsx';
import { CampaignPage } from '../pages/campaigns/campaign-page.tsx';
import { CampaignsPage } from '../pages/campaigns/campaigns-page.tsx';
import { CodePage } from '../pages/code/code-page.tsx';
import { CodesPage } from '../pages/codes/codes-page.tsx';
import { ImportPage } from '../pages/codes/import-page.tsx';
import { NewCodePage } from '../pages/codes/new-code-page.tsx';
import { OverviewPage } from '../pages/overview/overview-page.tsx';
import { AcceptInvitePage } from '../pages/session/accept-invite-page.tsx';
import { ApiKeysPage } from '../pages/settings/api-keys-page.tsx';
import { ClusterPage } from '../pages/settings/cluster-page.tsx';
import { ConfirmEmailPage } from '../pages/settings/confirm-email-page.tsx';
import { PagesPage } from '../pages/settings/pages-page.tsx';
import { ProfilePage } from '../pages/settings/profile-page.tsx';
import { RetentionPage } from '../pages/settings/retention-page.tsx';
import { WorkspacePage } from '../pages/settings/workspace-page.tsx';
import { TeamPage } from '../pages/team/team-page.tsx';
import { DeadLettersPage } from '../pages/webhooks/dead-letters-page.tsx';
import { DeliveryPage } from '../pages/webhooks/delivery-page.tsx';
import { WebhookPage } from '../pages/webhooks/webhook-page.tsx';
import { WebhooksPage } from '../pages/webhooks/webhooks-page.tsx';
import type { PathName } from '../paths.ts';
import type { PageProps } from './page-props.ts';

export const pages: Readonly<Record<PathName, ComponentType<PageProps>>> = {
  overview: OverviewPage,
  signIn: OverviewPage,
  analytics: AnalyticsPage,
  codes: CodesPage,
  newCode: NewCodePage,
  importCodes: ImportPage,
  code: CodePage,
  campaigns: CampaignsPage,
  newCampaign: NewCampaignPage,
  campaign: CampaignPage,
  team: TeamPage,
  billing: BillingPage,
  checkout: CheckoutPage,
  profile: ProfilePage,
  confirmEmail: ConfirmEmailPage,
  workspace: WorkspacePage,
  pages: PagesPage,
  apiKeys: ApiKeysPage,
  webhooks: WebhooksPage,
  webhook: WebhookPage,
  deadLetters: DeadLettersPage,
  delivery: DeliveryPage,
  alerts: AlertsPage,
  retention: RetentionPage,
  cluster: ClusterPage,
  acceptInvite: AcceptInvitePage,
};
