// How components follow what changes: the store, the clock, the width of the window.

import {useEffect, useLayoutEffect, useReducer, useRef, useState} from "preact/hooks";

import {clock} from "./data/clock";
import {home, store} from "./data/store";
import type {Store} from "./data/store";

// Redraws the component whenever what is known changes. It subscribes before anything else can happen: an effect after the
// painting would miss what comes in between.
export function useStore(): Store {
  const [, draw] = useReducer((count: number) => count + 1, 0);
  useLayoutEffect(() => {
    const ends = [store, home].map((one) => one.subscribe(() => draw(undefined)));
    return () => ends.forEach((end) => end());
  }, []);
  return store;
}

const tickers = new Set<() => void>();
setInterval(() => {
  if (!document.hidden) for (const tick of tickers) tick();
}, 1000);

// A value that depends on the time, computed once a second; the component is redrawn only when the value changes.
export function useTicking<T extends string | number>(compute: (now: number) => T): T {
  const latest = useRef(compute);
  latest.current = compute;
  const shown = compute(clock.now());
  const last = useRef(shown);
  last.current = shown;
  const [, draw] = useReducer((count: number) => count + 1, 0);
  useEffect(() => {
    const tick = (): void => {
      if (latest.current(clock.now()) !== last.current) draw(undefined);
    };
    tickers.add(tick);
    return () => tickers.delete(tick);
  }, []);
  return shown;
}

export function useMedia(query: string): boolean {
  const [matches, setMatches] = useState(() => matchMedia(query).matches);
  useEffect(() => {
    const list = matchMedia(query);
    const changed = (): void => setMatches(list.matches);
    changed();
    list.addEventListener("change", changed);
    return () => list.removeEventListener("change", changed);
  }, [query]);
  return matches;
}

export function usePhone(): boolean {
  return useMedia("(max-width: 700px)");
}
