// Keeps the stream of the view API open for as long as the page lives: connect, take the fleet, take changes; when it
// breaks, try again with growing pauses. A token that is wanted or a refusal waits for the visitor instead.

import type {Change, Fleet} from "./api";
import {ApiError, get} from "./client";
import {inCluster} from "./cluster";
import {readEvents} from "./events";
import type {ServerEvent} from "./events";
import type {Store} from "./store";

const FIRST_PAUSE = 500;
const LONGEST_PAUSE = 15_000;
// The server sends something every 15 s; a stream that is silent for so long is dead although nobody said so.
const LONGEST_SILENCE = 40_000;

export class Stream {
  private pause = FIRST_PAUSE;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private attempt: AbortController | null = null;

  private cluster = "";

  constructor(private readonly store: Store) {}

  // Of that cluster from now on, and of no other.
  show(cluster: string): void {
    this.cluster = cluster;
    this.pause = FIRST_PAUSE;
    this.store.forget();
    this.connect();
  }

  stop(): void {
    clearTimeout(this.timer);
    this.attempt?.abort();
    this.attempt = null;
    this.store.forget();
  }

  // Starts, or restarts at once: a token was given, the visitor is impatient, the network is back.
  connect(): void {
    clearTimeout(this.timer);
    this.attempt?.abort();
    const attempt = new AbortController();
    this.attempt = attempt;
    void this.run(attempt);
  }

  // Only if it is not connected.
  nudge(): void {
    if (this.store.connection.state === "lost") this.connect();
  }

  private async run(attempt: AbortController): Promise<void> {
    let silence: ReturnType<typeof setTimeout> | undefined;
    const alive = (): void => {
      clearTimeout(silence);
      silence = setTimeout(() => attempt.abort(), LONGEST_SILENCE);
    };
    try {
      alive();
      const response = await get(inCluster("careen/v1/stream", this.cluster), attempt.signal);
      await readEvents(response, alive, (event) => {
        if (this.attempt === attempt) this.take(event);
      });
      throw new ApiError(0, "the server ended the connection");
    } catch (error) {
      if (this.attempt === attempt) this.failed(error);
    } finally {
      clearTimeout(silence);
    }
  }

  private take(event: ServerEvent): void {
    if (event.name === "fleet") {
      this.pause = FIRST_PAUSE;
      this.store.replace(JSON.parse(event.data) as Fleet);
    } else if (event.name === "change") {
      this.store.apply(JSON.parse(event.data) as Change);
    }
  }

  private failed(error: unknown): void {
    const message = error instanceof Error ? error.message : String(error);
    const status = error instanceof ApiError ? error.status : 0;
    if (status === 401) return this.store.connected({state: "unauthorized", message});
    if (status === 403) return this.store.connected({state: "forbidden", message});
    // Everybody who lost the same server would come back at the same moment.
    const pause = this.pause * (0.75 + Math.random() / 2);
    this.pause = Math.min(this.pause * 2, LONGEST_PAUSE);
    this.timer = setTimeout(() => this.connect(), pause);
    const text = status === 0 && !(error instanceof ApiError) ? "the connection broke" : message;
    this.store.connected({state: "lost", message: text, retryAt: performance.now() + pause});
  }
}
