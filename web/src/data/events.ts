// Server-sent events out of a response body. EventSource cannot send an Authorization header, so the page reads the
// stream itself.

export interface ServerEvent {
  name: string;
  data: string;
}

// Takes the text as it comes and hands out each event that is complete.
export class EventParser {
  private rest = "";
  private looked = 0;

  push(text: string): ServerEvent[] {
    this.rest += text;
    const events: ServerEvent[] = [];
    let begin = 0;
    for (;;) {
      const end = this.rest.indexOf("\n\n", Math.max(begin, this.looked));
      if (end < 0) break;
      const event = parseEvent(this.rest.slice(begin, end));
      if (event) events.push(event);
      begin = end + 2;
      this.looked = begin;
    }
    this.rest = this.rest.slice(begin);
    // A large event comes in many pieces; what has been looked through is not looked through again.
    this.looked = Math.max(0, this.rest.length - 1);
    return events;
  }
}

// None for a comment.
function parseEvent(block: string): ServerEvent | null {
  let name = "message";
  const data: string[] = [];
  for (const line of block.split("\n")) {
    if (line.startsWith("event:")) name = line.slice(6).trim();
    else if (line.startsWith("data:")) data.push(line.slice(line[5] === " " ? 6 : 5));
  }
  return data.length > 0 ? {name, data: data.join("\n")} : null;
}

// Reads until the server ends the stream. `alive` is called for whatever arrives, comments too.
export async function readEvents(
  response: Response, alive: () => void, take: (event: ServerEvent) => void): Promise<void> {
  if (!response.body) throw new Error("the browser gives no stream");
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  const parser = new EventParser();
  for (;;) {
    const {done, value} = await reader.read();
    if (done) return;
    alive();
    const text = decoder.decode(value, {stream: true}).replace(/\r/g, "");
    for (const event of parser.push(text)) take(event);
  }
}
