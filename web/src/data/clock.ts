// The cluster's clock, carried forward between two answers at the speed of the demonstration, and how times are
// written for people.

export class ClusterClock {
  private base = Date.now();
  private taken = performance.now();
  private speed = 1;

  set(time: string, speed: number): void {
    const base = Date.parse(time);
    if (!Number.isFinite(base)) return;
    this.base = base;
    this.taken = performance.now();
    this.speed = Number.isFinite(speed) && speed > 0 ? speed : 1;
  }

  now(): number {
    return this.base + (performance.now() - this.taken) * this.speed;
  }
}

export const clock = new ClusterClock();

// At most two units: 45 s, 3 min, 2 h 5 min, 4 d 3 h.
export function durationText(milliseconds: number): string {
  const seconds = Math.round(Math.abs(milliseconds) / 1000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return withRest(hours, "h", minutes % 60, "min");
  return withRest(Math.floor(hours / 24), "d", hours % 24, "h");
}

function withRest(value: number, unit: string, rest: number, restUnit: string): string {
  return rest > 0 ? `${value} ${unit} ${rest} ${restUnit}` : `${value} ${unit}`;
}

export function relativeText(time: number, now: number): string {
  const distance = time - now;
  if (Math.abs(distance) < 1500) return "now";
  return distance < 0 ? `${durationText(distance)} ago` : `in ${durationText(distance)}`;
}

const TIME = new Intl.DateTimeFormat(undefined, {hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23"});
const SHORT_TIME = new Intl.DateTimeFormat(undefined, {hour: "2-digit", minute: "2-digit", hourCycle: "h23"});
const DAY = new Intl.DateTimeFormat(undefined, {weekday: "short", day: "numeric", month: "short"});

export function timeText(time: number): string {
  return TIME.format(time);
}

export function shortTimeText(time: number): string {
  return SHORT_TIME.format(time);
}

export function dayText(time: number): string {
  return DAY.format(time);
}

// The day only when it is not today.
export function momentText(time: number, now: number): string {
  const same = new Date(time).toDateString() === new Date(now).toDateString();
  return same ? SHORT_TIME.format(time) : `${DAY.format(time)}, ${SHORT_TIME.format(time)}`;
}
