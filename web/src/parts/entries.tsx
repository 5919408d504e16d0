// Lines of the timeline, newest first, with the day between them.

import type {Entry} from "../data/api";
import {dayText, timeText} from "../data/clock";
import {NodeLink, When} from "./basics";

export const KINDS: readonly Entry["kind"][] =
  ["transition", "notification", "drain", "maintenance", "pause", "error", "careen"];

// The text with the node's name in it as a link, or with the link before it.
function Linked({text, node}: {text: string; node: string}) {
  const at = text.indexOf(node);
  if (at < 0) return <><NodeLink name={node} /> {text}</>;
  return <>{text.slice(0, at)}<NodeLink name={node} />{text.slice(at + node.length)}</>;
}

function Line({entry, withNode}: {entry: Entry; withNode: boolean}) {
  const moment = Date.parse(entry.time);
  return (
    <li class={`entry k-${entry.kind}`}>
      <time class="clock" dateTime={entry.time} title={entry.time}>{Number.isFinite(moment) ? timeText(moment) : entry.time}</time>
      <span class={`kind ${entry.to ? `s-${entry.to}` : ""}`}>{entry.kind}</span>
      <span class="entry-text">
        {withNode && entry.node ? <Linked text={entry.text} node={entry.node} /> : entry.text}
      </span>
      <span class="age"><When time={entry.time} /></span>
    </li>
  );
}

export function Entries({entries, withNode, label}: {entries: Entry[]; withNode: boolean; label: string}) {
  const lines = [];
  let day = "";
  for (let index = entries.length - 1; index >= 0; --index) {
    const entry = entries[index];
    if (!entry) continue;
    const own = dayText(Date.parse(entry.time) || 0);
    if (day && own !== day) lines.push(<li key={`day ${own}`} class="day">{own}</li>);
    day = own;
    lines.push(<Line key={`${entry.time} ${entry.node ?? ""} ${entry.text}`} entry={entry} withNode={withNode} />);
  }
  return <ol class="entries" aria-label={label}>{lines}</ol>;
}
