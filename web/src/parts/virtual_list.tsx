// A list of which only the visible rows exist. All rows have one height; what scrolls is the nearest `.scroller`.

import type {ComponentChildren} from "preact";
import {useLayoutEffect, useRef, useState} from "preact/hooks";

// Rows beyond the edge, so that a quick scroll and the Tab key find something there.
const BEYOND = 8;

interface Range {
  first: number;
  last: number;        // one past it
}

export function VirtualList<T>(props: {
  items: T[];
  rowHeight: number;
  keyOf: (item: T) => string;
  row: (item: T, index: number) => ComponentChildren;
}) {
  const {items, rowHeight} = props;
  const element = useRef<HTMLDivElement>(null);
  const [range, setRange] = useState<Range>({first: 0, last: 60});

  useLayoutEffect(() => {
    const list = element.current;
    const scroller = list?.closest<HTMLElement>(".scroller");
    if (!list || !scroller) return;
    const look = (): void => {
      const hidden = scroller.getBoundingClientRect().top - list.getBoundingClientRect().top;
      const first = Math.max(0, Math.floor(hidden / rowHeight) - BEYOND);
      const last = Math.ceil((hidden + scroller.clientHeight) / rowHeight) + BEYOND;
      setRange((old) => (old.first === first && old.last === last ? old : {first, last}));
    };
    look();
    scroller.addEventListener("scroll", look, {passive: true});
    const resized = new ResizeObserver(look);
    resized.observe(scroller);
    return () => {
      scroller.removeEventListener("scroll", look);
      resized.disconnect();
    };
  }, [rowHeight, items.length]);

  const first = Math.min(range.first, Math.max(0, items.length - 1));
  const shown = items.slice(first, Math.max(range.last, first + 1));
  return (
    <div class="virtual" role="rowgroup" ref={element} style={{height: `${items.length * rowHeight}px`}}>
      <div class="window" role="presentation" style={{transform: `translateY(${first * rowHeight}px)`}}>
        {shown.map((item, offset) => (
          <div class="virtual-row" role="presentation" key={props.keyOf(item)} style={{height: `${rowHeight}px`}}>
            {props.row(item, first + offset)}
          </div>
        ))}
      </div>
    </div>
  );
}
