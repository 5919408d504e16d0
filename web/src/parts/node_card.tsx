// A node in a few lines: what the map shows of the cell that is pointed at.

import type {NodeRow} from "../data/api";
import {cellName} from "../data/filter";
import {Badge, When} from "./basics";

export function NodeCard({row}: {row: NodeRow}) {
  return (
    <>
      <p class="card-head"><b class="name">{row.name}</b> <Badge state={row.cell} /></p>
      {row.profiles.map((profile) => (
        <p key={profile.name}>
          <b>{profile.name}</b>: {cellName(profile.state)} <span class="muted"><When time={profile.since} /></span>
          {profile.error && <span class="line-below bad">{profile.error}</span>}
          {!profile.error && profile.waits && <span class="line-below muted">waits: {profile.waits}</span>}
        </p>
      ))}
      {!row.ready && <p class="bad">The node is not ready.</p>}
      {row.cordoned && <p class="muted">Cordoned{row.holds?.length ? ` for ${row.holds.join(", ")}` : ""}</p>}
    </>
  );
}
