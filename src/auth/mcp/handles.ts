import { ifPossible } from '../values/faults.ts';
import { RecentMap } from '../values/recent-map.ts';

interface Handle {
  readonly user: string;
  readonly tool?: string | undefined;
}

/** Remembers whose a session or a task is: the 10,000 used last, and 100 of each user. */
export class McpHandles {
  readonly #kept = new RecentMap<Handle>(10_000);
  /** How many each user has: counting them at each request would take longer than the rest of it. */
  readonly #counts = new Map<string, number>();

  constructor() {
    this.#kept.onEvict = (_, { user }) => void this.#count(user, -1);
  }

  /** Returns the user, and the tool that a task comes from; or undefined for what is nobody's, or forgotten. */
  ownerOf(id: string | null | undefined): Handle | undefined {
    return typeof id === 'string' ? this.#kept.peek(id) : undefined;
  }

  /** Remembers who uses it, unless it is somebody else's. */
  use(id: string, user: string, tool?: string): void {
    const owner = this.#kept.peek(id);
    if (owner) return void (owner.user === user && this.#kept.get(id));
    this.#kept.set(id, { user, tool });
    if (this.#count(user, 1) <= 100) return;
    const [oldest] = [...this.#kept].findLast(([, other]) => other.user === user) ?? [];
    if (oldest !== undefined) this.end(oldest);
  }

  /** Forgets it. */
  end(id: string): void {
    const owner = this.#kept.peek(id);
    this.#kept.delete(id);
    if (owner) this.#count(owner.user, -1);
  }

  #count(user: string, change: 1 | -1): number {
    const count = (this.#counts.get(user) ?? 0) + change;
    if (count > 0) this.#counts.set(user, count);
    else this.#counts.delete(user);
    return count;
  }
}

/** Longer than any message that says that a task was created. */
const MAX_LENGTH = 2 ** 16;

/**
 * Returns a function that reads the parts of an answer, JSON or a stream of events, and calls back with the ID of each
 * task in it, and that of its request.
 */
export function createTaskFinder(found: (task: string, request: unknown) => void): (part: unknown) => void {
  const decoder = new TextDecoder();
  let [rest, begun] = ['', ''];
  // What begins with this is no JSON.
  const bounded = (text: string) => (text.length > MAX_LENGTH ? '!' : text);
  return (part) => {
    const text = part instanceof Uint8Array ? decoder.decode(part, { stream: true }) : part;
    const lines = (rest + (typeof text === 'string' ? text : '')).split(/[\r\n]/);
    rest = bounded(lines.at(-1) ?? '');
    for (const [index, line] of lines.entries()) {
      // JSON in several lines, such as with `json spaces` of Express, ends with the bracket with which it begins.
      const value = /^[}\]]/.test(line) ? begun + line : line.replace(/^data:/, '');
      if (index < lines.length - 1) begun = /^[[{]/.test(line) ? bounded(line) : bounded(begun + line);
      const answers: unknown = value.includes('"taskId"') ? ifPossible(() => JSON.parse(value)) : undefined;
      for (const { id, result } of [answers].flat().map(Object)) {
        const { task, taskId } = Object(result);
        const created: unknown = Object(task).taskId ?? taskId;
        if (typeof created === 'string') found(created, id);
      }
    }
  };
}
