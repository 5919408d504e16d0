// What narrows the nodes that are shown: words, profile, state, zone; and by which label they are grouped. It lives in
// the address, so that a view can be sent to somebody.

import {useEffect, useMemo, useRef, useState} from "preact/hooks";

import type {Fleet} from "../data/api";
import {CELLS, cellName, labelValues, NO_FILTER, ZONE} from "../data/filter";
import type {Filter} from "../data/filter";
import {replaceQuery} from "../route";
import type {Route} from "../route";

export interface Choice extends Filter {
  group: string;       // a label; "-" is not grouped; "" is the best label
}

function choiceOf(query: URLSearchParams): Choice {
  const get = (key: string): string => query.get(key) ?? "";
  return {text: get("q"), profile: get("profile"), state: get("state"), zone: get("zone"), group: get("group")};
}

export function queryOf(choice: Choice): Record<string, string> {
  const {text, ...others} = choice;
  return {q: text, ...others};
}

// The choice in the address, and how to change it.
export function useChoice(route: Route): [Choice, (change: Partial<Choice>) => void] {
  const [choice, setChoice] = useState(() => choiceOf(route.query));
  useEffect(() => setChoice(choiceOf(route.query)), [route]);
  const change = (part: Partial<Choice>): void => {
    const next = {...choice, ...part};
    setChoice(next);
    replaceQuery(route.view, queryOf(next));
  };
  return [choice, change];
}

export function groupLabel(choice: Choice, fleet: Fleet): string {
  if (choice.group === "-") return "";
  return choice.group || (fleet.labels[0] ?? "");
}

function Select(props: {
  label: string; value: string; options: [value: string, text: string][]; change: (value: string) => void;
}) {
  return (
    <label class="select">
      <span>{props.label}</span>
      <select value={props.value} onChange={(event) => props.change(event.currentTarget.value)}>
        {props.options.map(([value, text]) => <option key={value} value={value}>{text}</option>)}
      </select>
    </label>
  );
}

export function FilterBar(props: {
  fleet: Fleet; choice: Choice; change: (part: Partial<Choice>) => void; shown: number;
  legend?: boolean;        // states are chosen in a legend beside it
}) {
  const {fleet, choice, change} = props;
  const input = useRef<HTMLInputElement>(null);
  const zones = useMemo(() => labelValues(fleet.nodes, ZONE), [fleet.nodes]);
  const pairs = useMemo(() => labelPairs(fleet), [fleet.nodes, fleet.labels]);
  const filtered = choice.text !== "" || choice.profile !== "" || choice.state !== "" || choice.zone !== "";
  const states = choice.profile ? ["operational", "maintenance-required", "in-maintenance"] : CELLS;

  const clear = (): void => {
    change(NO_FILTER);
    input.current?.focus();
  };
  return (
    <div class="filters" role="search" aria-label="Filter nodes">
      <label class="search">
        <span class="unseen">Filter by text or label=value</span>
        <input ref={input} type="search" id="filter" list="filter-labels" placeholder="Filter: text, label=value, is:waiting"
          autocomplete="off" spellcheck={false} value={choice.text}
          onInput={(event) => change({text: event.currentTarget.value})}
          onKeyDown={(event) => {
            if (event.key !== "Escape") return;
            if (choice.text) change({text: ""});
            else event.currentTarget.blur();
          }} />
        <kbd aria-hidden="true">/</kbd>
        <datalist id="filter-labels">{pairs.map((pair) => <option key={pair} value={pair} />)}</datalist>
      </label>
      <Select label="Profile" value={choice.profile} change={(profile) => change({profile})}
        options={[["", "any"], ...fleet.profiles.map(({name}): [string, string] => [name, name])]} />
      {!props.legend && <Select label="State" value={choice.state} change={(state) => change({state})}
        options={[["", "any"], ...states.map((state): [string, string] => [state, cellName(state)])]} />}
      {zones.length > 0 && <Select label="Zone" value={choice.zone} change={(zone) => change({zone})}
        options={[["", "any"], ...zones.map((zone): [string, string] => [zone, zone])]} />}
      <Select label="Group by" value={choice.group === "-" ? "-" : groupLabel(choice, fleet)}
        change={(group) => change({group})}
        options={[...fleet.labels.map((key): [string, string] => [key, shortLabel(key)]), ["-", "nothing"]]} />
      <span class="shown" role="status">
        {filtered ? `${props.shown} of ${fleet.nodes.length}` : `${fleet.nodes.length} nodes`}
      </span>
      {filtered && <button type="button" class="quiet" onClick={clear}>Clear</button>}
    </div>
  );
}

// topology.kubernetes.io/zone is called zone by everybody.
export function shortLabel(key: string): string {
  return key.slice(key.lastIndexOf("/") + 1) || key;
}

// Suggestions: labels with few values, as they would be typed.
function labelPairs(fleet: Fleet): string[] {
  const pairs: string[] = [];
  for (const key of fleet.labels) {
    const values = labelValues(fleet.nodes, key);
    if (values.length <= 20) pairs.push(...values.map((value) => `${key}=${value}`));
  }
  return pairs.slice(0, 60);
}
