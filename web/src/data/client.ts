// Requests to the view API of the host that served this page, with the visitor's token when there is one.

import {inCluster, shownCluster} from "./cluster";

const TOKEN = "careen-token";

// What the server answered instead of a document; status 0: it could not be reached.
export class ApiError extends Error {
  constructor(readonly status: number, message: string) {
    super(message);
  }
}

// The page lies at / or at /static/, maybe below the prefix of a proxy; the API lies beside it.
export function address(path: string): string {
  const folder = location.pathname.replace(/[^/]*$/, "").replace(/static\/$/, "");
  return folder + path;
}

export function token(): string {
  return sessionStorage.getItem(TOKEN) ?? "";
}

// Kept for this tab only.
export function keepToken(text: string): void {
  if (text) sessionStorage.setItem(TOKEN, text);
  else sessionStorage.removeItem(TOKEN);
}

async function refusal(response: Response): Promise<ApiError> {
  const text = await response.text().catch(() => "");
  try {
    const error: unknown = (JSON.parse(text) as {error?: unknown}).error;
    if (typeof error === "string") return new ApiError(response.status, error);
  } catch {
    // Not JSON: a proxy's page, whose text helps nobody.
  }
  return new ApiError(response.status, `the server answered ${response.status} ${response.statusText}`.trim());
}

// The response to a GET, or an ApiError.
export async function get(path: string, signal?: AbortSignal): Promise<Response> {
  const headers: Record<string, string> = {};
  if (token()) headers["Authorization"] = `Bearer ${token()}`;
  const init: RequestInit = {headers, cache: "no-store", credentials: "same-origin"};
  if (signal) init.signal = signal;
  let response: Response;
  try {
    response = await fetch(address(path), init);
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new ApiError(0, "the server cannot be reached");
  }
  if (!response.ok) throw await refusal(response);
  return response;
}

// A document of the cluster that is shown.
export async function getJson<T>(path: string, signal?: AbortSignal): Promise<T> {
  const response = await get(inCluster(path, shownCluster()), signal);
  return (await response.json()) as T;
}
