// The tree of reasons, with the lines that decide marked.

import {useMemo} from "preact/hooks";

import type {Why} from "../data/api";
import {decidingLeaves} from "../data/reasons";

const MARKS: Record<Why["verdict"], [mark: string, spoken: string]> = {
  yes: ["✓", "yes"],
  no: ["✗", "no"],
  error: ["!", "error"],
  note: ["·", "note"],
};

function Line({why, deciding}: {why: Why; deciding: Set<Why>}) {
  const [mark, spoken] = MARKS[why.verdict] ?? MARKS.note;
  const decides = deciding.has(why);
  return (
    <li class={`why v-${why.verdict} ${decides ? "decides" : ""}`}>
      <div class="why-line">
        <span class="mark" aria-hidden="true">{mark}</span>
        <span class="unseen">{spoken}: </span>
        <span class="why-text">{why.text}</span>
        {decides && <span class="tag">{why.verdict === "error" ? "fails" : "holds it back"}</span>}
      </div>
      {why.children && why.children.length > 0 && (
        <ul>{why.children.map((child, index) => <Line key={index} why={child} deciding={deciding} />)}</ul>
      )}
    </li>
  );
}

export function WhyTree({why, label}: {why: Why; label: string}) {
  const deciding = useMemo(() => decidingLeaves(why), [why]);
  return <ul class="why-tree" aria-label={label}><Line why={why} deciding={deciding} /></ul>;
}
