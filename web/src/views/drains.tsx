// What is being emptied, and what blocks it.

import type {Fleet} from "../data/api";
import {Empty, Panel} from "../parts/basics";
import {DrainCard, MaintenanceLine} from "../parts/drain_card";

export function DrainsView({fleet}: {fleet: Fleet}) {
  return (
    <div class="sections">
      <Panel title="Drains" count={fleet.drains.length}>
        {fleet.drains.length === 0 ? <Empty>No node is being drained.</Empty> :
          <div class="grid wide">{fleet.drains.map((drain) => <DrainCard key={`${drain.node} ${drain.owner}`} drain={drain} />)}</div>}
      </Panel>
      <Panel title="NodeMaintenances" count={fleet.maintenances.length}>
        {fleet.maintenances.length === 0 ? <Empty>There is no NodeMaintenance.</Empty> :
          <ul class="plain">{fleet.maintenances.map((one) => <MaintenanceLine key={one.name} maintenance={one} />)}</ul>}
      </Panel>
    </div>
  );
}
