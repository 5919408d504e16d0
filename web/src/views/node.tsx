// One node's story: where it is, why it does not move, when it can, and what happens then.

import {useEffect, useRef, useState} from "preact/hooks";

import type {Fleet, State, Story, StoryProfile, Transition} from "../data/api";
import {ApiError, getJson} from "../data/client";
import {cellName} from "../data/filter";
import {concerns, store} from "../data/store";
import {Badge, Empty, Moment, Panel, Prose, When} from "../parts/basics";
import {DrainCard, MaintenanceLine} from "../parts/drain_card";
import {Entries} from "../parts/entries";
import {WhyTree} from "../parts/why_tree";
import {viewHref} from "../route";

// The story is fetched again when something happened that may be part of it, at most once a second.
const SHORTEST_PAUSE = 1000;

interface Told {
  story: Story | null;
  error: ApiError | null;
}

function useStory(node: string): Told {
  const [told, setTold] = useState<Told>({story: null, error: null});
  useEffect(() => {
    setTold({story: null, error: null});
    const aborter = new AbortController();
    let asking = false;
    let stale = false;
    const ask = async (): Promise<void> => {
      if (asking) {
        stale = true;
        return;
      }
      asking = true;
      stale = false;
      try {
        const story = await getJson<Story>(`careen/v1/nodes/${encodeURIComponent(node)}`, aborter.signal);
        if (!aborter.signal.aborted) setTold({story, error: null});
      } catch (error) {
        if (!aborter.signal.aborted && error instanceof ApiError) setTold((old) => ({story: old.story, error}));
      }
      setTimeout(() => {
        asking = false;
        if (stale && !aborter.signal.aborted) void ask();
      }, SHORTEST_PAUSE);
    };
    void ask();
    const unsubscribe = store.onChange((change) => {
      if (concerns(change, node)) void ask();
    });
    return () => {
      unsubscribe();
      aborter.abort();
    };
  }, [node]);
  return told;
}

const STATES: readonly State[] = ["operational", "maintenance-required", "in-maintenance"];

// The three states as stations, the one it is in and the one it goes to.
function Stations({profile}: {profile: StoryProfile}) {
  return (
    <ol class="stations" aria-label={`States of ${profile.name}`}>
      {STATES.map((state) => (
        <li key={state} class={`${state === profile.state ? `here s-${state}` : ""} ${state === profile.next && state !== profile.state ? "next" : ""}`}
          aria-current={state === profile.state ? "step" : undefined}>{cellName(state)}</li>
      ))}
    </ol>
  );
}

function verdict(transition: Transition): [text: string, tone: string] {
  if (transition.error) return ["fails", "bad"];
  if (transition.blocked) return ["blocked", "warn"];
  return transition.passed ? ["yes", "good"] : ["not yet", "muted"];
}

function TransitionPart({transition, name}: {transition: Transition; name: string}) {
  const [text, tone] = verdict(transition);
  return (
    <section class="transition" aria-label={`${name}: transition to ${cellName(transition.target)}`}>
      <h4>To <Badge state={transition.target} /> <span class={`verdict ${tone}`}>{text}</span></h4>
      {transition.expression !== transition.why.text && (
        <p class="expression"><span class="muted">if</span> <code>{transition.expression}</code></p>
      )}
      {transition.error && <p class="bad">{transition.error}</p>}
      {transition.blocked && <p class="warn">{transition.blocked}</p>}
      <WhyTree why={transition.why} label={`Reasons for ${cellName(transition.target)}`} />
      {transition.triggers && <p class="then"><span class="muted">then</span> {transition.triggers}</p>}
    </section>
  );
}

function ProfilePart({profile}: {profile: StoryProfile}) {
  return (
    <section class="panel profile-story" aria-label={`Profile ${profile.name}`}>
      <h2>{profile.name}{profile.since && <span class="muted since">{cellName(profile.state)} since <Moment time={profile.since} /></span>}</h2>
      <Stations profile={profile} />
      <p class="summary"><Prose text={profile.summary} /></p>
      {profile.error && <p class="bad" role="alert">{profile.error}</p>}
      {profile.wake && <p class="wake">Can next change by itself at <Moment time={profile.wake} /></p>}
      {profile.transitions.map((transition, index) => <TransitionPart key={index} transition={transition} name={profile.name} />)}
      {profile.transitions.length === 0 && <Empty>No transition leads out of this state.</Empty>}
    </section>
  );
}

function Facts({story}: {story: Story}) {
  const labels = Object.entries(story.labels);
  return (
    <Panel title="Node">
      <dl class="facts">
        <dt>Ready</dt><dd class={story.ready ? "" : "bad"}>{story.ready ? "yes" : "no"}</dd>
        <dt>Cordoned</dt><dd>{story.cordoned ? "yes" : "no"}</dd>
        {story.taints.length > 0 && <><dt>Taints</dt><dd>{story.taints.map((taint) => <code key={taint}>{taint}</code>)}</dd></>}
        {labels.length > 0 && <><dt>Labels</dt><dd>{labels.map(([key, value]) => <code key={key}>{key}={value}</code>)}</dd></>}
        <dt>UID</dt><dd><code>{story.uid}</code></dd>
      </dl>
    </Panel>
  );
}

function Holds({story}: {story: Story}) {
  if (story.holds.length === 0) return null;
  return (
    <Panel title="Holds" count={story.holds.length}>
      <ul class="plain">
        {story.holds.map((hold) => (
          <li key={hold.owner}><b class="name">{hold.owner}</b> <span class="muted"><When time={hold.since} /></span>
            <p class="muted">{hold.items.join(", ")}</p></li>
        ))}
      </ul>
    </Panel>
  );
}

function Pending({story}: {story: Story}) {
  if (story.pending.length === 0) return null;
  return (
    <Panel title="Notifications under way" count={story.pending.length}>
      <ul class="plain">
        {story.pending.map((one) => (
          <li key={`${one.profile} ${one.instance}`}><b>{one.instance}</b> <span class="muted">of {one.profile}, since <When time={one.since} />,
            {" "}{one.attempts} {one.attempts === 1 ? "attempt" : "attempts"}</span>
            {one.error && <p class="bad">{one.error}</p>}</li>
        ))}
      </ul>
    </Panel>
  );
}

function StoryPage({story}: {story: Story}) {
  return (
    <div class="story">
      <div class="main-column">
        {story.profiles.length === 0 && <Empty>No profile is responsible for this node.</Empty>}
        {story.profiles.map((profile) => <ProfilePart key={profile.name} profile={profile} />)}
        {story.drains.length > 0 && (
          <Panel title="Drains" count={story.drains.length}>
            <div class="stacked">{story.drains.map((drain) => <DrainCard key={drain.owner} drain={drain} />)}</div>
          </Panel>
        )}
        {story.limits && story.limits.length > 0 && (
          <Panel title="Limits over all actors">
            <div class="stacked">{story.limits.map((why, index) => <WhyTree key={index} why={why} label="Limit" />)}</div>
          </Panel>
        )}
        <details class="panel whole"><summary>The whole tree of reasons</summary><WhyTree why={story.why} label="All reasons" /></details>
      </div>
      <div class="side-column">
        <Facts story={story} />
        <Holds story={story} />
        {story.maintenances.length > 0 && (
          <Panel title="NodeMaintenances" count={story.maintenances.length}>
            <ul class="plain">{story.maintenances.map((one) => <MaintenanceLine key={one.name} maintenance={one} />)}</ul>
          </Panel>
        )}
        <Pending story={story} />
        <Panel title="Timeline" more={viewHref("timeline", {node: story.node})}>
          {story.timeline.length === 0 ? <Empty>Nothing has happened to it yet.</Empty> :
            <Entries entries={story.timeline.slice(-60)} withNode={false} label={`Timeline of ${story.node}`} />}
        </Panel>
      </div>
    </div>
  );
}

export function NodeView({fleet, name}: {fleet: Fleet; name: string}) {
  const {story, error} = useStory(name);
  const heading = useRef<HTMLHeadingElement>(null);
  const row = store.node(name);
  useEffect(() => heading.current?.focus({preventScroll: true}), [name]);
  return (
    <>
      <header class="node-head">
        <nav aria-label="Way back"><a href={viewHref("nodes")}>Nodes</a> <span aria-hidden="true">/</span></nav>
        <h1 ref={heading} tabIndex={-1}>{name}</h1>
        {row && <Badge state={row.cell} />}
        {row && !row.ready && <span class="flag bad">not ready</span>}
        {row?.cordoned && <span class="flag">cordoned</span>}
        {story?.pauses.map((pause) => <span key={pause.profile ?? ""} class="flag warn">{pause.profile ? `${pause.profile} paused` : "paused"}</span>)}
      </header>
      {error && <p class="banner bad" role="alert">{error.status === 404 ? `There is no node ${name}.` : error.message}</p>}
      {story ? <StoryPage story={story} /> : !error && <Empty>Asking for the story of {name} …</Empty>}
      {!story && error?.status === 404 && <p><a href={viewHref("nodes")}>All {fleet.nodes.length} nodes</a></p>}
    </>
  );
}
