/** The machines of the installation: the leader, each node's delay, and problems. Reloaded while it is shown. */
import { useState } from 'preact/hooks';
import { plural } from '../../client/format.ts';
import { call } from '../../client/http.ts';
import { invalidate, useRefresh, useResource } from '../../client/resource.ts';
import { may, seesCluster } from '../../client/session.ts';
import type { Cluster, ClusterNode } from '../../client/wire.ts';
import { Button } from '../../parts/button.tsx';
import { Confirm } from '../../parts/dialog.tsx';
import { SelectField } from '../../parts/field.tsx';
import { Badge } from '../../parts/list.tsx';
import { Notice } from '../../parts/notice.tsx';
import { Card, Page, Ready, Skeleton } from '../../parts/page.tsx';
import { Table } from '../../parts/table.tsx';
import { Time } from '../../parts/time.tsx';
import { say } from '../../parts/toast.tsx';
import { NotFoundPage } from '../session/not-found-page.tsx';

const refreshMs = 3_000;

export function ClusterPage() {
  return seesCluster() ? <Nodes /> : <NotFoundPage />;
}

/** The cores that could lead instead. */
const candidates = ({ nodes }: Cluster): readonly string[] =>
  nodes
    .filter(({ role, state }) => role !== 'edge' && state === 'connected')
    .map(({ name }) => name);

function Nodes() {
  const cluster = useResource<Cluster>('/cluster');
  useRefresh(refreshMs, cluster);
  const [isHandingOver, setHandingOver] = useState(false);
  const { data } = cluster;
  const others = data === undefined ? [] : candidates(data);
  return (
    <Page
      title="Cluster"
      lead="The machines of this installation"
      actions={
        may('owner') && (
          <Button
            icon="refresh"
            disabled={others.length === 0}
            onClick={() => setHandingOver(true)}
          >
            Hand over the lead{' '}
          </Button>
        )
      }
    >
      <Ready of={cluster} skeleton={<Skeleton rows={3} />}>
        {(shown) => (
          <div class="stack">
            <Needs of={shown} />
            <NodesCard of={shown} />
          </div>
        )}
      </Ready>
      {isHandingOver && data !== undefined && (
        <HandOver leader={data.leader} others={others} onClose={() => setHandingOver(false)} />
      )}
    </Page>
  );
}

/** Problems that need a person, with their remedies. */
function Needs({ of: { problems, versions } }: { readonly of: Cluster }) {
  return (
    <>
      {problems.length === 0 && <Notice tone="good" title="All nodes are connected." />}
      {problems.map(({ node, problem, remedy }) => (
        <Notice key={`${node} ${problem}`} tone="warn" title={problem}>
          <p>
            <WithCommands text={remedy} />
          </p>
        </Notice>
      ))}
      {versions !== null && (
        <Notice title="An upgrade is running">
          <p>{versions}.</p>
        </Notice>
      )}
    </>
  );
}

/** Text in backquotes is a command. */
function WithCommands({ text }: { readonly text: string }) {
  return (
    <>{text.split('`').map((part, at) => (at % 2 === 1 ? <code key={at}>{part}</code> : part))}</>
  );
}

function NodesCard({ of: { leader, epoch, nodes } }: { readonly of: Cluster }) {
  return (
    <Card
      class="card-flush"
      title="Nodes"
      lead={leader === null ? 'No known leader.' : `${leader} leads, in epoch ${epoch}.`}
    >
      <Table
        caption="Nodes"
        columns={[
          'Node',
          'State',
          'Behind',
          { wide: 'Scans stored' },
          { wide: 'Version' },
          { wide: 'Joined' },
        ]}
      >
        {nodes.map((node) => (
          <NodeRow key={node.name} of={node} />
        ))}
      </Table>
    </Card>
  );
}

const states = {
  active: { label: 'Leads', tone: 'accent' },
  connected: { label: 'Connected', tone: 'good' },
  away: { label: 'Away', tone: 'bad' },
} as const;

const roleTexts: Readonly<Record<ClusterNode['role'], string>> = {
  all: 'Redirects, stores data, can lead',
  core: 'Stores data, can lead',
  edge: 'Redirects',
};

/** How far a node is behind the others; undefined if it has not reported. */
function behindText({ state, linksBehind, scansBehind }: ClusterNode): string | undefined {
  const links = linksBehind ?? 0;
  const scans = scansBehind ?? 0;
  if (state === 'away' && scans === 0) return undefined;
  const parts = [
    ...(links === 0 ? [] : [plural(links, 'link change')]),
    ...(scans === 0 ? [] : [plural(scans, 'batch of scans', 'batches of scans')]),
  ];
  return parts.length === 0 ? 'Up to date' : parts.join(', ');
}

function NodeRow({ of }: { readonly of: ClusterNode }) {
  const { name, role, state, atTwoCores, version, joinedAt } = of;
  return (
    <tr>
      <td>
        <span class="row-title">{name}</span>
        <span class="row-sub">{roleTexts[role]}</span>
      </td>
      <td>
        <Badge tone={states[state].tone}>{states[state].label}</Badge>
      </td>
      <td class="soft">{behindText(of) ?? 'Unknown'}</td>
      <td class="hide-narrow soft">
        {atTwoCores === null ? 'None' : atTwoCores ? 'At two cores' : 'Not at two cores'}
      </td>
      <td class="hide-narrow soft nowrap">{version ?? 'Unknown'}</td>
      <td class="hide-narrow soft nowrap">
        <Time iso={joinedAt} />
      </td>
    </tr>
  );
}

interface HandOverProps {
  readonly leader: string | null;
  readonly others: readonly string[];
  readonly onClose: () => void;
}

/** Any connected core. */
const anyCore = '';

function HandOver({ leader, others, onClose }: HandOverProps) {
  const [to, setTo] = useState(anyCore);
  const handOver = async (): Promise<void> => {
    const body = to === anyCore ? {} : { to };
    const done = await call<{ leader: string }>('POST', '/cluster/handover', { body });
    say(`${done.leader} leads now.`);
    invalidate('/cluster');
  };
  const options = [
    { value: anyCore, label: 'Any connected core' },
    ...others.map((name) => ({ value: name, label: name })),
  ];
  return (
    <Confirm
      title="Hand over the lead?"
      action="Hand over"
      tone="accent"
      onConfirm={handOver}
      onClose={onClose}
    >
      <p>
        {leader === null ? (
          'No node is known to lead.'
        ) : (
          <>
            <b>{leader}</b> leads now.
          </>
        )}{' '}
        The other core takes over within a second or two. Until then changes are refused; redirects
        go on.
      </p>
      <SelectField label="Next leader" value={to} options={options} onChange={setTo} />
    </Confirm>
  );
}
