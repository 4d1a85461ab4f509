/** What is wrong now, on top of the overview; nothing where nothing is. */
import { useResource } from '../../client/resource.ts';
import { Notice } from '../../parts/notice.tsx';
import { Time } from '../../parts/time.tsx';
import { pathTo } from '../../paths.ts';
import { type IncidentList, incidentText, subjectAddress } from './alert-labels.ts';

const shownMax = 5;

export function OpenIncidents() {
  const { data } = useResource<IncidentList>('/watches/incidents?open=true&limit=100');
  const incidents = data?.data ?? [];
  if (incidents.length === 0) return null;
  const count = data?.nextCursor === undefined ? String(incidents.length) : '100 or more';
  const title = incidents.length === 1 ? 'One alert is open' : `${count} alerts are open`;
  return (
    <Notice tone="warn" title={title}>
      <ul>
        {incidents.slice(0, shownMax).map((incident) => (
          <li key={incident.id} class="break">
            <a dir="auto" href={subjectAddress(incident)}>
              {incident.name}
            </a>
            : {incidentText(incident)}, since <Time iso={incident.since} />
          </li>
        ))}
      </ul>
      <p>
        <a href={pathTo('alerts')}>All alerts</a>
      </p>
    </Notice>
  );
}
