/** The moment that the page shows: null while it is live, or a time in seconds while it replays the past. */
import { computed, signal } from "@preact/signals";

export const moment = signal<number | null>(null);
/** Whether the page shows the past. Views hide their actions then. */
export const isReplay = computed(() => moment.value !== null);
