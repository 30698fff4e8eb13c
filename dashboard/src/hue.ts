/** Agents' colors: the same in all views. */

/** Hues that people can tell apart, in an order that puts neighbors far from each other. */
const HUES = [255, 145, 30, 310, 195, 75, 350, 225, 115, 280, 50, 170];
const slots = new Map<string, number>();

/** Return the hue of an agent. Agents get different hues while there are enough of them. */
export function hueOf(agent: string): number {
  let slot = slots.get(agent);
  if (slot === undefined) {
    slot = freeSlot(hash(agent) % HUES.length);
    slots.set(agent, slot);
  }
  return HUES[slot] as number;
}

/** Give agents their hues in the order in which they joined, so that most browsers agree. */
export function assignHues(agents: readonly { id: string; started: number }[]): void {
  for (const agent of [...agents].sort((a, b) => a.started - b.started)) hueOf(agent.id);
}

function freeSlot(wanted: number): number {
  const used = new Set(slots.values());
  for (let i = 0; i < HUES.length; i++) {
    const slot = (wanted + i) % HUES.length;
    if (!used.has(slot)) return slot;
  }
  return wanted;
}

function hash(text: string): number {
  let found = 2166136261;
  for (let i = 0; i < text.length; i++) found = Math.imul(found ^ text.charCodeAt(i), 16777619);
  return (found ^ (found >>> 15)) >>> 0;
}
