// What happened in the last hours, by kind and node.

import {useEffect, useMemo, useState} from "preact/hooks";

import type {Entry, Fleet} from "../data/api";
import {getJson} from "../data/client";
import {store} from "../data/store";
import {Empty} from "../parts/basics";
import {Entries, KINDS} from "../parts/entries";
import {replaceQuery} from "../route";
import type {Route} from "../route";

const PAGE = 200;

// For one node the server remembers more than the stream carries for all.
function useEntries(fleet: Fleet, node: string): Entry[] {
  const [remembered, setRemembered] = useState<{node: string; entries: Entry[]}>({node: "", entries: []});
  const exact = store.node(node) !== undefined;
  useEffect(() => {
    if (!exact) return;
    const aborter = new AbortController();
    getJson<{timeline: Entry[]}>(`careen/v1/timeline?node=${encodeURIComponent(node)}`, aborter.signal)
      .then(({timeline}) => setRemembered({node, entries: timeline}))
      .catch(() => undefined);     // what the stream told is shown; the banner tells when the server is gone
    return () => aborter.abort();
  }, [node, exact]);
  return useMemo(() => {
    const own = node ? fleet.timeline.filter((entry) => matchesNode(entry, node, exact)) : fleet.timeline;
    if (remembered.node !== node || !exact) return own;
    const last = remembered.entries[remembered.entries.length - 1]?.time ?? "";
    return [...remembered.entries, ...own.filter((entry) => entry.time > last)];
  }, [fleet.timeline, node, exact, remembered]);
}

function matchesNode(entry: Entry, node: string, exact: boolean): boolean {
  if (exact) return entry.node === node;
  const wanted = node.toLowerCase();
  return (entry.node ?? "").toLowerCase().includes(wanted) || entry.text.toLowerCase().includes(wanted);
}

export function TimelineView({fleet, route}: {fleet: Fleet; route: Route}) {
  const [kind, setKind] = useState(route.query.get("kind") ?? "");
  const [node, setNode] = useState(route.query.get("node") ?? "");
  const [pages, setPages] = useState(1);
  useEffect(() => {
    setKind(route.query.get("kind") ?? "");
    setNode(route.query.get("node") ?? "");
  }, [route]);
  const entries = useEntries(fleet, node.trim());
  const shown = useMemo(() => (kind ? entries.filter((entry) => entry.kind === kind) : entries), [entries, kind]);
  const choose = (nextKind: string, nextNode: string): void => {
    setKind(nextKind);
    setNode(nextNode);
    replaceQuery("timeline", {kind: nextKind, node: nextNode});
  };
  return (
    <div class="timeline">
      <div class="sticky">
        <div class="filters" role="search" aria-label="Filter the timeline">
          <label class="search">
            <span class="unseen">Filter by node or text</span>
            <input type="search" id="filter" placeholder="Filter: node or text" autocomplete="off" spellcheck={false} value={node}
              onInput={(event) => choose(kind, event.currentTarget.value)}
              onKeyDown={(event) => event.key === "Escape" && (node ? choose(kind, "") : event.currentTarget.blur())} />
            <kbd aria-hidden="true">/</kbd>
          </label>
          <div class="chips" role="group" aria-label="Kinds">
            {KINDS.map((one) => (
              <button key={one} type="button" class="chip" aria-pressed={kind === one}
                onClick={() => choose(kind === one ? "" : one, node)}>{one}</button>
            ))}
          </div>
          <span class="shown" role="status">{shown.length} events</span>
        </div>
      </div>
      {shown.length === 0 ? <Empty>Nothing of this kind has happened.</Empty> :
        <Entries entries={shown.slice(-PAGE * pages)} withNode label="Timeline" />}
      {shown.length > PAGE * pages && <button type="button" class="quiet" onClick={() => setPages(pages + 1)}>Show older</button>}
    </div>
  );
}
