// What the visitor must know before anything else: what is paused, that the page is not live, that nobody leads, what
// careen itself has trouble with.

import type {Fleet, Pause} from "../data/api";
import {timeText} from "../data/clock";
import type {Connection} from "../data/store";
import {useTicking} from "../hooks";
import {Moment, When} from "./basics";

function PauseBanner({pause}: {pause: Pause}) {
  return (
    <div class="banner warn" role="status">
      <b>{pause.profile ? `Profile ${pause.profile} is paused` : "Everything is paused"}</b>
      {" "}by {pause.by} since <Moment time={pause.since} />{pause.reason ? `: ${pause.reason}` : ""}
    </div>
  );
}

function LostBanner(props: {lost: Extract<Connection, {state: "lost"}>; fleet: Fleet | null; retry: () => void}) {
  const {lost, fleet} = props;
  const seconds = useTicking(() => Math.max(0, Math.ceil((lost.retryAt - performance.now()) / 1000)));
  return (
    <div class="banner bad" role="alert">
      <b>Not connected:</b> {lost.message}.
      {fleet && <> What you see is from {timeText(Date.parse(fleet.time))}.</>}
      {" "}{seconds > 0 ? `Next attempt in ${seconds} s.` : "Trying again …"}
      {" "}<button type="button" class="quiet" onClick={props.retry}>Try now</button>
    </div>
  );
}

function Problems({problems}: {problems: Fleet["problems"]}) {
  const [first] = problems;
  if (!first) return null;
  if (problems.length === 1) {
    return <div class="banner bad" role="status"><b>{first.name}:</b> {first.message} (<When time={first.since} />)</div>;
  }
  return (
    <details class="banner bad">
      <summary><b>{problems.length} problems</b>, first {first.name}: {first.message}</summary>
      <ul>
        {problems.map((problem) => (
          <li key={problem.name}><b>{problem.name}:</b> {problem.message} (<When time={problem.since} />)</li>
        ))}
      </ul>
    </details>
  );
}

export function Banners(props: {connection: Connection; fleet: Fleet | null; retry: () => void}) {
  const {connection, fleet} = props;
  return (
    <div class="banners">
      {connection.state === "lost" && <LostBanner lost={connection} fleet={fleet} retry={props.retry} />}
      {connection.state === "forbidden" && (
        <div class="banner bad" role="alert"><b>You may not look:</b> {connection.message}</div>
      )}
      {fleet && !fleet.careen.leading && !fleet.careen.holder && (
        <div class="banner bad" role="alert"><b>Nobody leads:</b> no replica of careen holds the leader lock, so nothing moves.</div>
      )}
      {fleet?.pauses.map((pause) => <PauseBanner key={pause.profile ?? ""} pause={pause} />)}
      {fleet && <Problems problems={fleet.problems} />}
    </div>
  );
}
