/** How long the service keeps which data. */
import { Card, Page } from '../../parts/page.tsx';
import { Table } from '../../parts/table.tsx';

interface Retention {
  readonly what: string;
  readonly howLong: string;
  readonly note: string;
}

const retention: readonly Retention[] = [
  {
    what: 'Codes and their settings',
    howLong: 'Until you delete them',
    note: 'A deleted short code is never given out again.',
  },
  {
    what: 'Counts: scans, scanners, countries, devices, hours',
    howLong: 'As long as the code, then 90 days',
    note: 'Then all numbers of the code are deleted.',
  },
  {
    what: 'Single scans',
    howLong: '90 days, unless the operator changes it',
    note: 'Time, country, city, device, system and referrer. Never an IP address, never a user agent.',
  },
  {
    what: 'IP addresses and user agents of scanners',
    howLong: 'Usually two minutes at most',
    note: 'Deleted from the disk when the scan is counted.',
  },
  {
    what: 'Identity of scanners',
    howLong: 'Not stored',
    note: 'Unique scanners are counted with a keyed hash that identifies nobody.',
  },
  {
    what: 'Events waiting for webhooks',
    howLong: 'Until they are delivered',
    note: 'At most eight attempts over about 31 hours.',
  },
  {
    what: 'Dead letters',
    howLong: '7 days',
    note: 'You can send them again until then.',
  },
  {
    what: 'Incidents',
    howLong: 'The last 1,000',
    note: 'Including those of deleted alerts.',
  },
  {
    what: 'Answers to requests with an Idempotency-Key',
    howLong: '24 hours',
    note: 'Encrypted: not even the operator can read them.',
  },
  {
    what: 'Ended invites',
    howLong: 'A month',
    note: 'Their links end after 7 days, or at once when withdrawn.',
  },
];

export function RetentionPage() {
  return (
    <Page title="Data" lead="What is stored, and for how long">
      <Card class="card-flush">
        <Table caption="What is stored, and for how long" columns={['What', 'How long']}>
          {retention.map(({ what, howLong, note }) => (
            <tr key={what}>
              <td>
                <span class="row-title">{what}</span>
                <span class="row-sub">{note}</span>
              </td>
              <td>{howLong}</td>
            </tr>
          ))}
        </Table>
      </Card>
      <p class="attribution">
        All data lives in one folder on the operator’s machine. Nothing is sent anywhere else,
        except the webhooks and e-mails you set up, and requests to the destinations that alerts
        check.
      </p>
    </Page>
  );
}
