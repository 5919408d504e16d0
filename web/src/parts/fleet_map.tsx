// The fleet as a map: each node a cell, coloured by its state, in groups. A cell is a link; the arrow keys move between
// cells, Tab passes the whole map by.

import {Component} from "preact";
import {useMemo, useRef, useState} from "preact/hooks";

import type {NodeRow} from "../data/api";
import {CELLS, cellName, countCells, nodeSentence} from "../data/filter";
import type {Group} from "../data/filter";
import {store} from "../data/store";
import {nodeHref} from "../route";
import {NodeCard} from "./node_card";

interface CellProps {
  row: NodeRow;
  text: string;
  dimmed: boolean;
  reached: boolean;    // by Tab
}

// A class for its shouldComponentUpdate: thousands of cells are compared and few redrawn.
class MapCell extends Component<CellProps> {
  override shouldComponentUpdate(next: CellProps): boolean {
    const {row, text, dimmed, reached} = this.props;
    return next.row !== row || next.text !== text || next.dimmed !== dimmed || next.reached !== reached;
  }

  override render({row, text, dimmed, reached}: CellProps) {
    return (
      <a class={`cell s-${row.cell}${dimmed ? " dimmed" : ""}${row.ready ? "" : " notready"}`} href={nodeHref(row.name)}
        data-node={row.name} tabIndex={reached ? 0 : -1} aria-label={nodeSentence(row)}>{text}</a>
    );
  }
}

function GroupHead({name, rows}: {name: string; rows: NodeRow[]}) {
  const counts = countCells(rows);
  return (
    <h3>
      <span class="group-name">{name || "without the label"}</span>
      <span class="count">{rows.length}</span>
      <span class="stack" aria-hidden="true">
        {CELLS.map((cell) => counts[cell] > 0 &&
          <span key={cell} class={`s-${cell}`} title={`${counts[cell]} ${cellName(cell)}`} style={{flexGrow: counts[cell]}} />)}
      </span>
    </h3>
  );
}

export type Size = "tile" | "medium" | "small";

export function sizeFor(nodes: number): Size {
  return nodes <= 240 ? "tile" : nodes <= 1200 ? "medium" : "small";
}

// What tells the nodes apart: their names without what all have in common at the beginning.
function commonPrefix(rows: NodeRow[]): number {
  const first = rows[0]?.name ?? "";
  let length = first.length;
  for (const {name} of rows) {
    let same = 0;
    while (same < length && name[same] === first[same]) ++same;
    length = same;
  }
  // Cut only after a separator, so that node-1 and node-12 become 1 and 12.
  while (length > 0 && !/[-_.]/.test(first[length - 1] ?? "")) --length;
  return rows.length > 1 ? length : 0;
}

interface Pointed {
  name: string;
  left: number;
  top: number;
  below: boolean;
}

const CARD_WIDTH = 320;

function pointedAt(cell: HTMLElement): Pointed {
  const place = cell.getBoundingClientRect();
  const below = place.top < innerHeight / 2;
  const left = Math.max(8, Math.min(place.left, innerWidth - CARD_WIDTH - 8));
  return {name: cell.dataset["node"] ?? "", left, top: below ? place.bottom + 6 : place.top - 6, below};
}

function cellOf(target: EventTarget | null): HTMLElement | null {
  return target instanceof Element ? target.closest<HTMLElement>("a.cell") : null;
}

// The cell to which an arrow key leads: sideways in order, up and down to the nearest one in the next line.
function neighbour(map: HTMLElement, from: HTMLElement, key: string): HTMLElement | undefined {
  const cells = [...map.querySelectorAll<HTMLElement>("a.cell")];
  const at = cells.indexOf(from);
  if (key === "Home") return cells[0];
  if (key === "End") return cells[cells.length - 1];
  if (key === "ArrowRight") return cells[at + 1];
  if (key === "ArrowLeft") return cells[at - 1];
  const step = key === "ArrowDown" ? 1 : -1;
  const here = from.getBoundingClientRect();
  let line: number | undefined;
  let best: HTMLElement | undefined;
  let distance = Infinity;
  for (let index = at + step; index >= 0 && index < cells.length; index += step) {
    const cell = cells[index];
    if (!cell) break;
    const place = cell.getBoundingClientRect();
    if (place.top === here.top) continue;
    if (line === undefined) line = place.top;
    if (place.top !== line) break;
    if (Math.abs(place.left - here.left) >= distance) continue;
    distance = Math.abs(place.left - here.left);
    best = cell;
  }
  return best;
}

const ARROWS = ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Home", "End"];

export function FleetMap({groups, matching, size}: {groups: Group[]; matching: Set<string> | null; size: Size}) {
  const map = useRef<HTMLDivElement>(null);
  const [pointed, setPointed] = useState<Pointed | null>(null);
  const [reached, setReached] = useState("");
  const rows = useMemo(() => groups.flatMap((group) => group.rows), [groups]);
  const cut = useMemo(() => (size === "tile" ? commonPrefix(rows) : 0), [rows, size]);
  const entrance = store.node(reached) ? reached : (rows[0]?.name ?? "");

  const point = (event: Event): void => {
    const cell = cellOf(event.target);
    setPointed(cell ? pointedAt(cell) : null);
  };
  const focus = (event: FocusEvent): void => {
    const cell = cellOf(event.target);
    if (cell) setReached(cell.dataset["node"] ?? "");
    point(event);
  };
  const press = (event: KeyboardEvent): void => {
    if (event.key === "Escape") setPointed(null);
    const cell = cellOf(event.target);
    if (!cell || !map.current || !ARROWS.includes(event.key)) return;
    event.preventDefault();
    neighbour(map.current, cell, event.key)?.focus();
  };
  const row = pointed ? store.node(pointed.name) : undefined;
  return (
    <div class={`map ${size}`} ref={map} onMouseOver={point} onMouseLeave={() => setPointed(null)} onFocusCapture={focus}
      onBlurCapture={() => setPointed(null)} onKeyDown={press}>
      {groups.map((group) => (
        <section key={group.name} class="group" aria-label={`${group.name || "all"}: ${group.rows.length} nodes`}>
          {(groups.length > 1 || group.name) && <GroupHead name={group.name} rows={group.rows} />}
          <div class="cells">
            {group.rows.map((node) => (
              <MapCell key={node.name} row={node} text={size === "tile" ? node.name.slice(cut) : ""}
                dimmed={matching !== null && !matching.has(node.name)} reached={node.name === entrance} />
            ))}
          </div>
        </section>
      ))}
      {pointed && row && (
        <div class={`tooltip ${pointed.below ? "below" : "above"}`} aria-hidden="true"
          style={{left: `${pointed.left}px`, top: `${pointed.top}px`}}><NodeCard row={row} /></div>
      )}
    </div>
  );
}
