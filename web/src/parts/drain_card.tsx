// A drain: how far it is, and what each pod that is left waits for.

import type {Drain, Maintenance, PodLeft} from "../data/api";
import {NodeLink, Progress, When} from "./basics";

const TONES: Record<Drain["phase"], string> = {draining: "", refused: "bad", drained: "good", failed: "bad"};

function Pod({pod}: {pod: PodLeft}) {
  return (
    <li class={pod.budget ? "pod blocked" : "pod"}>
      <div class="pod-name"><span class="muted">{pod.namespace}/</span>{pod.name}</div>
      <div class="pod-stage"><span class="stage">{pod.stage}</span> <When time={pod.since} /></div>
      <div class="pod-reason">
        {pod.reason}
        {pod.budget && <span class="tag">budget {pod.budget}</span>}
      </div>
    </li>
  );
}

export function DrainHead({drain}: {drain: Drain}) {
  return (
    <>
      <header>
        <h3><NodeLink name={drain.node} /></h3>
        {drain.phase !== "draining" && <span class={`phase ${TONES[drain.phase] ?? ""}`}>{drain.phase}</span>}
        <span class="numbers">{drain.total - drain.left} of {drain.total} pods gone</span>
      </header>
      <Progress percent={drain.percent} label={`Drain of ${drain.node}`} tone={TONES[drain.phase] ?? ""} />
    </>
  );
}

export function DrainCard({drain}: {drain: Drain}) {
  return (
    <article class="drain" aria-label={`Drain of ${drain.node}`}>
      <DrainHead drain={drain} />
      <p class="muted">for {drain.owner}, begun <When time={drain.begun} /></p>
      {drain.errors?.map((error) => <p key={error} class="bad">{error}</p>)}
      {drain.pods.length > 0 && <ul class="pods">{drain.pods.map((pod) => <Pod key={`${pod.namespace}/${pod.name}`} pod={pod} />)}</ul>}
      {drain.left > drain.pods.length && <p class="muted">and {drain.left - drain.pods.length} more</p>}
    </article>
  );
}

export function MaintenanceLine({maintenance}: {maintenance: Maintenance}) {
  const {name, node, reason, phase, percent, pending, error, since} = maintenance;
  return (
    <li class="maintenance">
      <header>
        <b class="name">{name}</b> <span class="muted">of</span> <NodeLink name={node} />
        <span class={`phase ${phase === "Failed" ? "bad" : phase === "Succeeded" ? "good" : ""}`}>{phase || "new"}</span>
        <When time={since} />
      </header>
      {percent !== undefined && <Progress percent={percent} label={`NodeMaintenance ${name}`}
        tone={phase === "Failed" ? "bad" : phase === "Succeeded" ? "good" : ""} />}
      <p class="muted">{reason}{pending ? `${reason ? " · " : ""}${pending} pods left` : ""}</p>
      {error && <p class="bad">{error}</p>}
    </li>
  );
}
